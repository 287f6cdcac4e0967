import { z } from 'zod';

import { longText, MAX_ID_CHARS } from '../../../apis/bounds.ts';
import { GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { FAMILY } from '../../../canonical/models/model-names.ts';
import { firstAborted } from '../../../kit/async/wait.ts';
import { isJsonObject, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type {
  RequiredAction,
  SessionItem,
  SessionMessage,
  SessionObject,
  SessionTurnObject,
} from '../sessions/objects.ts';
import type { AgentCaller, AgentSessions } from '../sessions/service.ts';
import { doorTool, ToolProblem, type DoorTool, type ToolCallScope, type DoorAnswer } from './tool.ts';

export interface CodexToolDeps {
  /** Null: this server has no sessions. */
  readonly sessions: AgentSessions | null;
  /** The workspaces that a key may use. */
  readonly workspacesOf: (keyId: string) => readonly Workspace[];
}

const name = z.string().min(1).max(MAX_ID_CHARS);

const codexArguments = z.object({
  prompt: longText.describe('What codex is to do.'),
  cwd: name
    .optional()
    .describe('The name or the exact path of a workspace of this server. Needed if there are several.'),
  model: name.optional().describe('The model. Default: that of this server.'),
  sandbox: z
    .enum(['read-only', 'workspace-write', 'danger-full-access'])
    .optional()
    .describe('read-only: nothing may be changed. workspace-write (the default): what the workspace allows.'),
  'approval-policy': z
    .enum(['untrusted', 'on-failure', 'on-request', 'never'])
    .optional()
    .describe('untrusted: the user approves every command and every patch. Otherwise none is asked for.'),
  'developer-instructions': longText.optional().describe('Instructions in addition to those of codex.'),
  'base-instructions': longText.optional().describe('Not supported.'),
  config: z.record(z.string(), z.unknown()).optional().describe('Not supported.'),
  profile: z.string().optional().describe('Not supported.'),
  'compact-prompt': z.string().optional().describe('Without effect.'),
});

type CodexArguments = z.output<typeof codexArguments>;

const replyArguments = z.object({
  prompt: longText.describe('What codex is to do next.'),
  threadId: name.optional().describe('The threadId of an earlier result.'),
  conversationId: name.optional().describe('The old name of threadId.'),
});

const OUTPUT: JsonObject = {
  type: 'object',
  properties: { threadId: { type: 'string' }, content: { type: 'string' } },
  required: ['threadId', 'content'],
};

/** The function by which a session asks its client for approvals. The model does not see it. */
const APPROVAL = 'codex_approval';

const APPROVAL_TOOL = {
  type: 'function',
  name: APPROVAL,
  description: 'Approves a command or a patch.',
  parameters: { type: 'object', properties: {} },
};

/** `codex` and `codex-reply`, with the names and fields of codex's own MCP server, which ended with 0.154. */
export const codexTools = (deps: CodexToolDeps): readonly DoorTool[] => {
  const isFor = (keyId: string): boolean => deps.sessions !== null && deps.workspacesOf(keyId).length > 0;
  const common = { needs: 'prompt', outputSchema: OUTPUT, isReadOnly: false, isFor } as const;
  return [
    doorTool({
      ...common,
      name: 'codex',
      title: 'Codex',
      description:
        'Runs a codex session: codex reads files, runs commands and changes files in a workspace of this server until it is done. The result has its last message, and the threadId for codex-reply.',
      args: codexArguments,
      run: (args, scope) => runCodex(args, scope, deps),
    }),
    doorTool({
      ...common,
      name: 'codex-reply',
      title: 'Codex reply',
      description: 'Continues a codex session with another prompt.',
      args: replyArguments,
      run: (args, scope) => runReply(args, scope, deps),
    }),
  ];
};

const runCodex = async (
  args: CodexArguments,
  scope: ToolCallScope,
  deps: CodexToolDeps,
): Promise<DoorAnswer> => {
  refuse(args);
  const asksUser = args['approval-policy'] === 'untrusted';
  if (asksUser) requireAsking(scope, "'approval-policy': 'untrusted'");
  const sessions = openSessions(deps);
  const instructions = args['developer-instructions'];
  const body = {
    environment: { type: 'self_hosted', workspace_directory: placeOf(args, scope, deps) },
    agent: {
      model: args.model ?? FAMILY,
      ...(instructions === undefined ? {} : { instructions }),
      ...(asksUser ? { tools: [APPROVAL_TOOL] } : {}),
    },
    input: args.prompt,
    metadata: { source: 'mcp' },
  };
  const caller = callerOf(scope);
  const create = () => sessions.create(caller, body, args.sandbox === 'read-only' ? { access: 'read' } : {});
  const { session, turnId, lastEventId } = await create().catch(async (error: unknown) => {
    if (!isSessionLimit(error) || !(await removeOldest(sessions, caller))) throw error;
    return create();
  });
  return follow({ sessions, scope, threadId: session.id, turnId, lastEventId });
};

const isSessionLimit = (error: unknown): boolean =>
  error instanceof GatewayError && error.failure.code === 'session_limit';

/** Clients of MCP cannot delete sessions: of theirs, the one that was idle for longest gives way. False: there is none. */
const removeOldest = async (sessions: AgentSessions, caller: AgentCaller): Promise<boolean> => {
  const { data } = await sessions.list(caller, OLDEST);
  const [oldest] = data
    .filter(({ status }) => status === 'idle')
    .toSorted((one, other) => one.last_active_at - other.last_active_at);
  if (oldest === undefined) return false;
  await sessions.delete(caller, oldest.id);
  return true;
};

const OLDEST = new URLSearchParams({ order: 'asc', limit: '100', 'metadata[source]': 'mcp' });

/** Throws for arguments that would undo the settings of the operator. */
const refuse = (args: CodexArguments): void => {
  const { sandbox, config } = args;
  if (sandbox === 'danger-full-access') {
    throw new ToolProblem(
      "'sandbox': 'danger-full-access' is not available: commands run in the sandbox of the workspace. Use 'workspace-write' or 'read-only'.",
    );
  }
  const refused = [
    ...(config !== undefined && Object.keys(config).length > 0 ? ['config'] : []),
    ...(['profile', 'base-instructions'] as const).filter((field) => args[field] !== undefined),
  ];
  if (refused.length > 0) {
    throw new ToolProblem(
      `Unsupported argument: '${refused.join("', '")}'. The operator of this server decides how codex runs; use 'developer-instructions' for instructions.`,
    );
  }
};

const placeOf = ({ cwd }: CodexArguments, { keyId }: ToolCallScope, deps: CodexToolDeps): string => {
  if (cwd !== undefined) return cwd;
  const [only, ...others] = deps.workspacesOf(keyId).map(({ label }) => label);
  if (only !== undefined && others.length === 0) return only;
  throw new ToolProblem(
    `Missing argument: 'cwd'. Use the name of a workspace: ${[only, ...others].join(', ')}.`,
  );
};

const openSessions = (deps: CodexToolDeps): AgentSessions => {
  const { sessions } = deps;
  if (sessions === null) throw new ToolProblem('This server has no codex sessions.');
  return sessions;
};

const requireAsking = ({ ask }: ToolCallScope, what: string): void => {
  if (ask !== null) return;
  throw new ToolProblem(
    `${what} needs a client that can ask its user (elicitation). Yours cannot, or uses no MCP session.`,
  );
};

const runReply = async (
  { prompt, threadId, conversationId }: z.output<typeof replyArguments>,
  scope: ToolCallScope,
  deps: CodexToolDeps,
): Promise<DoorAnswer> => {
  const id = threadId ?? conversationId;
  if (id === undefined) throw new ToolProblem("Missing argument: 'threadId'.");
  const sessions = openSessions(deps);
  const caller = callerOf(scope);
  const session = await sessions.retrieve(caller, id);
  if (asksForApproval(session)) requireAsking(scope, 'This session asks for approvals, which');
  const message = { role: 'user', content: [{ type: 'input_text', text: prompt }] };
  const { turnId, lastEventId } = await sessions.input(
    caller,
    id,
    { events: [{ type: 'agent.session.input.message', input: [message] }] },
    { onlyIdle: true },
  );
  return follow({ sessions, scope, threadId: id, turnId, lastEventId });
};

const asksForApproval = ({ agent }: SessionObject): boolean =>
  agent.tools.some((tool) => tool.type === 'function' && tool.name === APPROVAL);

/** Its signal ends what is read. What is written is not left half done. */
const callerOf = ({ keyId, exchange }: ToolCallScope): AgentCaller => ({
  keyId,
  requestId: exchange.requestId,
  signal: NEVER,
});

const NEVER = new AbortController().signal;

interface FollowedTurn {
  readonly sessions: AgentSessions;
  readonly scope: ToolCallScope;
  readonly threadId: string;
  /** Null: nothing runs. */
  readonly turnId: string | null;
  readonly lastEventId: string;
}

/** Follows a turn to its end. If the client cancels the call or leaves, the turn is cancelled, too. */
const follow = async (turn: FollowedTurn): Promise<DoorAnswer> => {
  const { sessions, scope, threadId, turnId, lastEventId } = turn;
  if (turnId === null) throw new Error('the turn of a prompt was not started');
  const approvals = new Approvals(turn);
  const signal = firstAborted(scope.signal, approvals.failed);
  let hasEnded = false;
  let last: SessionMessage | null = null;
  try {
    signal.throwIfAborted();
    const caller = { ...callerOf(scope), signal };
    for await (const event of await sessions.follow(caller, threadId, {
      after: lastEventId,
      untilTurn: turnId,
    })) {
      if (event.type === 'agent.session.requires_action') approvals.take(event.session.required_actions);
      if (!('turn_id' in event) || event.turn_id !== turnId) continue;
      if (event.type === 'agent.session.turn.item.added' && event.output_index !== null)
        scope.progress(progressOf(event.item));
      if (event.type === 'agent.session.turn.item.done') last = laterMessage(last, event.item);
      if (isEnd(event.type) && 'turn' in event) {
        hasEnded = true;
        return outcomeOf(event.turn, last, threadId);
      }
    }
    signal.throwIfAborted();
    throw new ToolProblem(
      `The session was deleted, or the server is stopping, before codex was done (threadId ${threadId}).`,
    );
  } finally {
    approvals.end();
    if (!hasEnded && scope.signal.aborted) await cancel(turn);
  }
};

const isEnd = (type: string): boolean => /^agent\.session\.turn\.(?:completed|failed|cancelled)$/.test(type);

/** Another turn may have begun meanwhile, which is not meant. */
const cancel = async ({ sessions, scope, threadId, turnId }: FollowedTurn): Promise<void> => {
  if (turnId === null) return;
  const body = { events: [{ type: 'agent.session.input.cancel' }] };
  try {
    await sessions.input(callerOf(scope), threadId, body, { onlyTurn: turnId });
  } catch (error) {
    // It was deleted meanwhile, or the server is stopping, which ends the turn.
    if (!(error instanceof GatewayError)) throw error;
  }
};

/** A message without a phase counts as final; commentary only if there is nothing else. */
const laterMessage = (before: SessionMessage | null, item: SessionItem): SessionMessage | null => {
  if (item.type !== 'message' || item.role !== 'assistant') return before;
  return item.phase === 'commentary' && before !== null && before.phase !== 'commentary' ? before : item;
};

const outcomeOf = (
  { status, error }: SessionTurnObject,
  last: SessionMessage | null,
  threadId: string,
): DoorAnswer => {
  if (status !== 'completed') {
    const why = status === 'cancelled' ? 'The turn was cancelled.' : (error?.message ?? 'The turn failed.');
    throw new ToolProblem(`${why} (threadId ${threadId})`);
  }
  const content = (last?.content ?? [])
    .flatMap((part) => (part.type === 'output_text' ? [part.text] : []))
    .join('');
  return { text: content, structured: { threadId, content } };
};

const MAX_PROGRESS_CHARS = 200;

const progressOf = (item: SessionItem): string =>
  whatHappens(item).slice(0, MAX_PROGRESS_CHARS).toWellFormed();

const whatHappens = (item: SessionItem): string => {
  if (item.type === 'command_execution') return item.command;
  if (item.type === 'mcp_call') return [item.name, ...changedPaths(item.arguments)].join(' ');
  return item.type === 'function_call' ? item.name : item.type;
};

/** The files of a patch. */
const changedPaths = (args: Json): readonly string[] => {
  const changes = isJsonObject(args) && Array.isArray(args['changes']) ? args['changes'] : [];
  return changes.flatMap((one) =>
    isJsonObject(one) && typeof one['path'] === 'string' ? [one['path']] : [],
  );
};

/** Asks the user about the calls of a turn that wait for an approval, one after the other. */
class Approvals {
  readonly #turn: FollowedTurn;
  readonly #seen = new Set<string>();
  readonly #failed = new AbortController();
  readonly #over = new AbortController();
  #asking: Promise<void> = Promise.resolve();

  constructor(turn: FollowedTurn) {
    this.#turn = turn;
  }

  /** Aborted with the reason why the turn cannot go on. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  take(actions: readonly RequiredAction[]): void {
    for (const action of actions) {
      if (action.turn_id !== this.#turn.turnId || this.#seen.has(action.call_id)) continue;
      this.#seen.add(action.call_id);
      this.#asking = this.#asking
        .then(() => this.#answer(action))
        .catch((error: unknown) => this.#failed.abort(error));
    }
  }

  end(): void {
    this.#over.abort();
  }

  async #answer(action: RequiredAction): Promise<void> {
    const { sessions, scope, threadId } = this.#turn;
    const { turn_id, call_id, name: called } = action;
    if (called !== APPROVAL) {
      throw new ToolProblem(
        `The session waits for the result of its function '${called}', which only a client of /v1/agents/sessions can give (threadId ${threadId}).`,
      );
    }
    const signal = firstAborted(scope.signal, this.#over.signal);
    const isApproved = (await scope.ask?.(questionOf(action.arguments), signal)) ?? false;
    if (signal.aborted) return;
    const result = isApproved
      ? { success: true, output: 'approve' }
      : { success: false, error: 'The user declined it.' };
    const event = { type: 'agent.session.input.tool_result', turn_id, call_id, ...result };
    try {
      await sessions.input(callerOf(scope), threadId, { events: [event] });
    } catch (error) {
      // The turn has stopped to wait for it.
      if (!(error instanceof GatewayError && error.failure.status === 400)) throw error;
    }
  }
}

/** All of what is going to run, because the user decides about all of it. */
const questionOf = (called: Json): string => {
  const { name: tool, arguments: given, cwd } = isJsonObject(called) ? called : {};
  const args = isJsonObject(given) ? given : {};
  const place = typeof cwd === 'string' ? ` in ${cwd}` : '';
  if (tool === 'apply_patch') {
    const files = filesOf(textIn(args, 'patch'));
    return `Allow codex to change ${files.length === 0 ? 'files' : files.join(', ')}${place}?`;
  }
  if (tool === 'exec_command') {
    const shell = textIn(args, 'shell');
    const by = shell === '' ? '' : ` with ${visible(shell)}`;
    return `Allow codex to run ${visible(textIn(args, 'cmd'))}${by}${place}?`;
  }
  return `Allow codex to run ${visible(JSON.stringify(called))}?`;
};

/** Characters that are not seen, or change what is seen around them, as their codes. */
const visible = (text: string): string =>
  text.replaceAll(
    /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (hidden) => String.raw`\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`,
  );

/** Of a name of a file in a patch. codex accepts blanks around it. */
const PATCHED = /^[^\S\n]*\*\*\*\s*(?:(Add|Update|Delete)\s*File|Move\s*to)\s*:([^\n]*)$/gim;

const filesOf = (patch: string): readonly string[] =>
  [...patch.matchAll(PATCHED)].map(([, kind, named = '']) => {
    const file = visible(named.trim());
    if (kind?.toLowerCase() === 'add') return `${file} (new)`;
    return kind?.toLowerCase() === 'delete' ? `${file} (deleted)` : file;
  });
