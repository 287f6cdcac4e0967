import { z } from 'zod';

import { parseBody, unreadFields } from '../../../apis/validation.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { ListedWorkspace, Offers } from '../../../compose/feature.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../../../http/body/read-json.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import type { Route } from '../../../http/route.ts';
import { bodyObject } from '../../../openai/chat/common.ts';
import { listBody, readListQuery, unreadQuery } from '../../../openai/shared/list-page.ts';
import type { WorkspaceCommands } from '../run/workers.ts';
import type { WorkspaceAccess } from '../workspaces/access.ts';

export interface WorkspaceRouteDeps {
  readonly access: WorkspaceAccess;
  readonly listWorkspaces: Offers['listWorkspaces'];
  readonly commands: WorkspaceCommands;
  readonly bodies: BodyDeps;
}

const MAX_ARGUMENTS = 1_000;
const MAX_ARGUMENT_CHARS = 100_000;
const MAX_PATH_CHARS = 4_096;
const MAX_QUERY_CHARS = 1_000;
const MAX_COMMAND_MS = 600_000;
const COMMAND_MS = 60_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Programs cannot get others. */
const withoutNul = z
  .string()
  .max(MAX_ARGUMENT_CHARS)
  .regex(/^[^\0]*$/, 'a NUL character');

const execSchema = z.object({
  command: z.tuple([withoutNul.min(1)], withoutNul).check((context) => {
    const { value } = context;
    if (value.length <= MAX_ARGUMENTS && value.join('').length <= MAX_ARGUMENT_CHARS) return;
    context.issues.push({
      code: 'custom',
      input: value,
      message: `at most ${MAX_ARGUMENTS} arguments of ${MAX_ARGUMENT_CHARS} characters in all are allowed`,
    });
  }),
  cwd: withoutNul.max(MAX_PATH_CHARS).nullish(),
  timeout_ms: z.int().min(1).max(MAX_COMMAND_MS).nullish(),
  access: z.enum(['read', 'write']).nullish(),
});

/** What keys may do in their workspaces without a model. */
export const workspaceRoutes = (deps: WorkspaceRouteDeps) => ({
  'GET /v1/codex/workspaces': list(deps),
  'POST /v1/codex/workspaces/:name/exec': exec(deps),
  'GET /v1/codex/workspaces/:name/files': findFiles(deps),
});

const list =
  ({ listWorkspaces }: WorkspaceRouteDeps): Route['handle'] =>
  async (_, exchange) => {
    const listed = await listWorkspaces(exchange.caller());
    return jsonResponse(listBody(listed.map(projectWorkspace), false), {}, exchange.signal);
  };

const projectWorkspace = ({ workspace, list: found, active }: ListedWorkspace) => {
  const { label, access, network, requireApproval, runs } = workspace;
  return {
    id: label,
    object: 'codex.workspace' as const,
    status: found.status,
    error: found.status === 'failed' ? `The workspace '${label}' ${found.lastError}.` : null,
    access,
    network: network === 'none' ? false : network,
    require_approval: requireApproval,
    runs: { active, max: runs },
  };
};

const exec =
  (deps: WorkspaceRouteDeps): Route['handle'] =>
  async (http, exchange, params) => {
    const workspace = workspaceOf(deps, exchange, params);
    const body = bodyObject(await readHeldBody(http, exchange, deps.bodies));
    const { command, cwd, timeout_ms: timeoutMs, access } = parseBody(execSchema, body);
    const result = await deps.commands.exec(
      {
        workspace,
        access: accessOf(workspace, access ?? workspace.access),
        command,
        folder: cwd ?? '.',
        timeoutMs: timeoutMs ?? COMMAND_MS,
        maxOutputBytes: MAX_OUTPUT_BYTES + 1,
      },
      exchange.signal,
    );
    const [stdout, stderr] = [cut(result.stdout), cut(result.stderr)];
    return jsonResponse(
      {
        object: 'codex.command',
        workspace: workspace.label,
        exit_code: result.exitCode,
        timed_out: result.isTimedOut,
        stdout: stdout.text,
        stdout_truncated: stdout.isCut,
        stderr: stderr.text,
        stderr_truncated: stderr.isCut,
      },
      ignoredHeader(unreadFields(execSchema, body, '')),
      exchange.signal,
    );
  };

const accessOf = (workspace: Workspace, access: Workspace['access']): Workspace['access'] => {
  if (access === 'read' || workspace.access === 'write') return access;
  throw gatewayError('invalid_value', {
    param: 'access',
    message: `Invalid 'access': nothing in the workspace '${workspace.label}' can be changed.`,
  });
};

/** The beginning of an output, without half a character at its end. */
const cut = (text: string): { readonly text: string; readonly isCut: boolean } => {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_OUTPUT_BYTES) return { text, isCut: false };
  return {
    text: new TextDecoder().decode(bytes.subarray(0, MAX_OUTPUT_BYTES), { stream: true }),
    isCut: true,
  };
};

const findFiles =
  (deps: WorkspaceRouteDeps): Route['handle'] =>
  async (http, exchange, params) => {
    const workspace = workspaceOf(deps, exchange, params);
    const asked = new URL(http.url).searchParams;
    const { limit } = readListQuery(asked, 'desc');
    const found = await deps.commands.searchFiles(workspace, queryOf(asked), exchange.signal);
    const data = found.slice(0, limit).map(({ path, isFolder, score }) => ({
      object: 'codex.file',
      path,
      type: isFolder ? 'folder' : 'file',
      score,
    }));
    return jsonResponse(
      { object: 'list', data, has_more: found.length > limit },
      ignoredHeader(unreadQuery(asked, ['query', 'limit'])),
      exchange.signal,
    );
  };

const queryOf = (asked: URLSearchParams): string => {
  const schema = z.object({ query: z.string().min(1).max(MAX_QUERY_CHARS) });
  return parseBody(schema, { query: asked.get('query') ?? undefined }).query;
};

const workspaceOf = (
  { access }: WorkspaceRouteDeps,
  exchange: Exchange,
  { name = '' }: Parameters<Route['handle']>[2],
): Workspace => access.named(exchange.caller(), name, 'name');
