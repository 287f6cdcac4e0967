import type { McpToolInfo } from '../../../canonical/mcp/mcp-tools.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { CODEX_TOOLS, type CodexTool } from '../run/port.ts';

const text = (description: string): JsonObject => ({ type: 'string', description });
const number = (description: string): JsonObject => ({ type: 'number', description });
const schema = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const OUTPUT_BUDGET = number(
  'Output token budget. Defaults to 10000 tokens; larger requests may be capped by policy.',
);

interface ToolText {
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** It changes nothing outside of the run. */
  readonly readOnly?: true;
}

/**
 * The tools of codex in its own words, as the model reads them. Two differ: a patch is the whole input of `apply_patch`, so
 * here it has a name, and `exec_command` has no fields that ask to leave the sandbox.
 */
const TOOLS: Readonly<Record<CodexTool, ToolText>> = {
  exec_command: {
    description: 'Runs a command in a PTY, returning output or a session ID for ongoing interaction.',
    inputSchema: schema(
      {
        cmd: text('Shell command to execute.'),
        login: {
          type: 'boolean',
          description: 'True runs the shell with -l/-i semantics; false disables them. Defaults to true.',
        },
        max_output_tokens: OUTPUT_BUDGET,
        shell: text("Shell binary to launch. Defaults to the user's default shell."),
        tty: {
          type: 'boolean',
          description: 'True allocates a PTY for the command; false or omitted uses plain pipes.',
        },
        workdir: text('Working directory for the command. Defaults to the turn cwd.'),
        yield_time_ms: number(
          'Wait before yielding output. Defaults to 10000 ms; effective range is 250-30000 ms.',
        ),
      },
      ['cmd'],
    ),
  },
  write_stdin: {
    description: 'Writes characters to an existing unified exec session and returns recent output.',
    inputSchema: schema(
      {
        chars: text('Bytes to write to stdin. Defaults to empty, which polls without writing.'),
        max_output_tokens: OUTPUT_BUDGET,
        session_id: number('Identifier of the running unified exec session.'),
        yield_time_ms: number(
          'Wait before yielding output. Non-empty writes default to 250 ms and cap at 30000 ms; empty polls wait 5000-300000 ms by default.',
        ),
      },
      ['session_id'],
    ),
  },
  apply_patch: {
    description: 'Edits files with a patch between `*** Begin Patch` and `*** End Patch`.',
    inputSchema: schema({ patch: text('The patch, as codex writes it.') }, ['patch']),
  },
  update_plan: {
    description:
      'Updates the task plan.\nProvide an optional explanation and a list of plan items, each with a step and status.\nAt most one step can be in_progress at a time.\n',
    inputSchema: schema(
      {
        explanation: text('Optional explanation for this plan update.'),
        plan: {
          type: 'array',
          description: 'The list of steps',
          items: schema(
            {
              status: { ...text('Step status.'), enum: ['pending', 'in_progress', 'completed'] },
              step: text('Task step text.'),
            },
            ['step', 'status'],
          ),
        },
      },
      ['plan'],
    ),
    readOnly: true,
  },
  view_image: {
    description:
      'View a local image file from the filesystem when visual inspection is needed. Use this for images already available on disk.',
    inputSchema: schema(
      {
        detail: {
          ...text('Image detail level. Defaults to `high`; use `original` to preserve exact resolution.'),
          enum: ['high', 'original'],
        },
        path: text('Local filesystem path to an image file.'),
      },
      ['path'],
    ),
    readOnly: true,
  },
};

export interface CodexToolInfo extends McpToolInfo {
  readonly name: CodexTool;
}

export const isCodexTool = (name: string): name is CodexTool => CODEX_TOOLS.some((tool) => tool === name);

/** The tools that a workspace has, as an MCP server would list them. */
export const workspaceTools = (access: Workspace['access']): readonly CodexToolInfo[] =>
  CODEX_TOOLS.filter((name) => access === 'write' || name !== 'apply_patch').map((name) => {
    const { description, inputSchema, readOnly = false } = TOOLS[name];
    return {
      name,
      title: null,
      description,
      inputSchema,
      outputSchema: null,
      annotations: { readOnlyHint: readOnly },
    };
  });
