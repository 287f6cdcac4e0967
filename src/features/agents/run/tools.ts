import type { McpToolInfo } from '../../../canonical/mcp/mcp-tools.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { Json, JsonObject } from '../../../kit/json/json.ts';
import { CODEX_TOOLS, type CodexTool } from './port.ts';

export interface CodexToolInfo extends McpToolInfo {
  readonly name: CodexTool;
}

export const isCodexTool = (name: string): name is CodexTool => CODEX_TOOLS.some((tool) => tool === name);

/** The tools of codex in a workspace, as clients see them. The model gets codex's own descriptions. */
export const toolsOf = (access: Workspace['access']): readonly CodexToolInfo[] =>
  access === 'write' ? TOOLS : TOOLS.filter(({ name }) => name !== 'apply_patch');

const parameters = (properties: Readonly<Record<string, Json>>, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const typed = (type: string, description: string): JsonObject => ({ type, description });

const outputLimit = typed('number', 'How many tokens of the output the model gets.');
const wait = typed('number', 'How many milliseconds to wait before the output so far is returned.');

const row = (
  name: CodexTool,
  description: string,
  inputSchema: JsonObject,
  { readOnlyHint = false } = {},
): CodexToolInfo => ({
  name,
  title: null,
  description,
  inputSchema,
  outputSchema: null,
  annotations: { readOnlyHint },
});

const TOOLS: readonly CodexToolInfo[] = [
  row(
    'exec_command',
    'Runs a command in a PTY, returning output or a session ID for ongoing interaction.',
    parameters(
      {
        cmd: typed('string', 'The shell command.'),
        workdir: typed('string', 'The folder that it runs in; absent: the workspace.'),
        shell: typed('string', 'The shell that runs it.'),
        login: typed('boolean', 'Whether it is a login shell.'),
        tty: typed('boolean', 'Whether the command gets a terminal.'),
        yield_time_ms: wait,
        max_output_tokens: outputLimit,
      },
      ['cmd'],
    ),
  ),
  row(
    'write_stdin',
    'Writes characters to a command that still runs, and returns its recent output.',
    parameters(
      {
        session_id: typed('number', 'The session of the command.'),
        chars: typed('string', 'What to write; absent: nothing, only the output is returned.'),
        yield_time_ms: wait,
        max_output_tokens: outputLimit,
      },
      ['session_id'],
    ),
  ),
  row(
    'apply_patch',
    'Changes files by a patch.',
    parameters({ patch: typed('string', 'From `*** Begin Patch` to `*** End Patch`.') }, ['patch']),
  ),
  row(
    'update_plan',
    'Updates the plan of the task. At most one step is in progress.',
    parameters(
      {
        explanation: typed('string', 'Why the plan has changed.'),
        plan: {
          type: 'array',
          items: parameters(
            {
              step: { type: 'string' },
              status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
            },
            ['step', 'status'],
          ),
        },
      },
      ['plan'],
    ),
    { readOnlyHint: true },
  ),
  row(
    'view_image',
    'Shows the model an image file.',
    parameters(
      {
        path: typed('string', 'The path of the file.'),
        detail: { type: 'string', enum: ['high', 'original'] },
      },
      ['path'],
    ),
    { readOnlyHint: true },
  ),
];
