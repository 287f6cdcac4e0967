import { createHash } from 'node:crypto';

import type { Turn, TurnContext } from '../../../canonical/context/turn-context.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import { wellFormed } from '../../../canonical/events/well-formed.ts';
import { GatewayError, gatewayError } from '../../../canonical/failure/failure.ts';
import { rejectionsFor, type Rejection } from '../../../canonical/failure/rejection.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { asksForCompaction } from '../../../canonical/request/compaction.ts';
import { itemFacts } from '../../../canonical/request/item-facts.ts';
import type { Item, Produced } from '../../../canonical/request/item.ts';
import type { Path } from '../../../canonical/request/path.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { hasAddress, isMcpTool, unknownMcpLabel } from '../../../codex/capabilities/mcp-tools.ts';
import { listedToolsEvents } from '../../../engine/mcp/mcp-tools.ts';
import type { Engine, Plan } from '../../../engine/engine.ts';
import { endWithinBudget } from '../../../engine/steps/turn-limits.ts';
import type { Ambient, IdSource } from '../../../kit/ambient.ts';
import { firstAborted, pause, unlessAborted, within } from '../../../kit/async/wait.ts';
import { textIn } from '../../../kit/json/json.ts';
import { isRandomId } from '../../../kit/text/patterns.ts';
import { agentError } from '../failures.ts';
import {
  isTurnEvent,
  type AgentEvent,
  type AgentRun,
  type AgentRunRequest,
  type AgentRuns,
} from '../run/port.ts';
import type { AgentApprovalStore } from '../store/port.ts';
import {
  codexHistory,
  declinedIn,
  type ApprovedCodexCall,
  type CodexHistory,
  type LabelOwners,
} from './workspace-history.ts';
import { choiceOfCodex, sortWorkspaces, type SortedWorkspaces, type WorkspaceUse } from './workspace-use.ts';

export interface WorkspaceEngineDeps {
  /** All of them. */
  readonly workspaces: readonly Workspace[];
  /** Those that a key may use. */
  readonly usableBy: (keyId: string) => readonly Workspace[];
  /** The labels of the MCP servers of the deployment. */
  readonly servers: readonly string[];
  readonly runs: AgentRuns;
  readonly approvals: AgentApprovalStore;
  /** How long used approvals are remembered. */
  readonly keepApprovalsMs: number;
  /** How long a run whose client does not wait may wait for its workspace. */
  readonly maxWaitMs: number;
  readonly ambient: Ambient;
  /** A call in it was not approved. */
  readonly onDeclined: (workspace: string) => void;
}

/** Runs the turns whose tools include a workspace, and leaves all others to the engine. */
export const withWorkspaces = (engine: Engine, deps: WorkspaceEngineDeps): Engine => ({
  plan: (request, context) =>
    request.tools.some(isMcpTool) || itemFacts(request.items).hasRaw
      ? planTurn({ request, context }, engine, deps)
      : engine.plan(request, context),
});

const planTurn = ({ request, context }: Turn, engine: Engine, deps: WorkspaceEngineDeps): Plan => {
  const usable = deps.usableBy(context.caller.keyId);
  const sorted = sortWorkspaces(request, usable);
  const isRun = sorted.use !== null && !asksForCompaction(request) && request.isReview !== true;
  const use = isRun ? sorted.use : null;
  const history = codexHistory(request.items, ownersOf(request, use, deps)) ?? unchanged(request);
  const choice = use === null ? request.toolChoice : choiceOfCodex(request.toolChoice, use);
  const asked: TurnRequest = {
    ...request,
    items: history.items,
    tools: sorted.tools,
    ...(use === null ? {} : { toolChoice: choice ?? request.toolChoice, contextManagement: null }),
  };
  // Calls in a workspace are limited by their run.
  const planned = engine.plan(use === null ? asked : { ...asked, maxToolCalls: null }, context);
  const pathOf = ownPath(sorted, history);
  // codex has a history of its own while it runs.
  const lost: readonly Path[] =
    use === null || request.contextManagement === null ? [] : ['contextManagement'];
  const added = [...sorted.ignored, ...lost];
  const ignored = [...planned.ignored.map(pathOf), ...added];
  const plan: Plan = {
    ...planned,
    ignored,
    refused: [
      ...sorted.refused,
      ...(choice === null ? [NOTHING_CHOSEN] : []),
      ...(use !== null && context.reserve === undefined ? [SEVERAL_ANSWERS] : []),
      ...history.refused,
      ...unusable(history.approved, use),
      ...planned.refused.map((one) => knowing({ ...one, path: pathOf(one.path) }, request, deps, usable)),
      ...rejectionsFor(request, added),
    ],
  };
  if (use === null) return plan;
  const run = runIn(
    { use, history, ignored, sent: request.items },
    { request: asked, context },
    engine,
    deps,
  );
  return endWithinBudget.wrap(() => ({ ...plan, run }), deps.ambient)(request, context);
};

const unchanged = ({ items }: TurnRequest): CodexHistory => ({
  items,
  places: null,
  approved: [],
  listed: new Set(),
  refused: [],
});

const ownersOf = (
  { tools }: TurnRequest,
  use: WorkspaceUse | null,
  { workspaces, servers }: WorkspaceEngineDeps,
): LabelOwners => {
  const withAddress = tools.filter(isMcpTool).filter(({ raw }) => hasAddress(raw));
  return {
    workspaces: new Set(workspaces.map(({ label }) => label)),
    servers: new Set([...servers, ...withAddress.map(({ raw }) => textIn(raw, 'server_label'))]),
    isUsed: use !== null,
  };
};

/** Approved calls whose workspace is not among the tools: the key may not use it, or the request does not name it. */
const unusable = (approved: readonly ApprovedCodexCall[], use: WorkspaceUse | null): readonly Rejection[] =>
  approved
    .filter(({ label }) => label !== use?.workspace.label)
    .map(({ label, place }) => ({
      path: { item: place },
      kind: 'invalid_value',
      why: `a call of the MCP server '${label}' was approved, but that server is not among the tools.`,
    }));

const NOTHING_CHOSEN: Rejection = {
  path: 'toolChoice',
  kind: 'invalid_value',
  why: 'the MCP server does not have this tool, or it is not allowed.',
};

/** They would work in one folder at the same time, and their model requests could not be counted one by one. */
const SEVERAL_ANSWERS: Rejection = {
  path: 'tools',
  kind: 'unsupported_value',
  why: 'a workspace cannot be used by a request for several answers.',
};

/** The part of the client's request that a part of the engine's request comes from. */
const ownPath = (sorted: SortedWorkspaces, { places }: CodexHistory): ((path: Path) => Path) => {
  const item = (index: number): number => places?.[index] ?? index;
  const tool = (index: number): number => sorted.places[index] ?? index;
  return (path) => {
    if (typeof path === 'string' || 'include' in path || 'formatField' in path) return path;
    if ('item' in path) return { item: item(path.item) };
    if ('tool' in path) return { tool: tool(path.tool) };
    if ('callNamespace' in path) return { callNamespace: item(path.callNamespace) };
    if ('file' in path) return { file: { ...path.file, item: item(path.file.item) } };
    if ('imageDetail' in path)
      return { imageDetail: { ...path.imageDetail, item: item(path.imageDetail.item) } };
    const { toolField } = path;
    return toolField.item === undefined
      ? { toolField: { ...toolField, tool: tool(toolField.tool) } }
      : { toolField: { ...toolField, item: item(toolField.item) } };
  };
};

/** The engine knows only MCP servers: a refusal of an unknown label names the workspaces, too. */
const knowing = (
  refused: Rejection,
  { tools }: TurnRequest,
  { servers }: WorkspaceEngineDeps,
  usable: readonly Workspace[],
): Rejection => {
  const { path } = refused;
  const tool = typeof path === 'object' && 'tool' in path ? tools[path.tool] : undefined;
  if (tool === undefined || !isMcpTool(tool)) return refused;
  const label = textIn(tool.raw, 'server_label');
  if (refused.why !== unknownMcpLabel(label, servers)) return refused;
  return { ...refused, why: unknownMcpLabel(label, [...servers, ...usable.map((one) => one.label)]) };
};

interface PlannedUse {
  readonly use: WorkspaceUse;
  readonly history: CodexHistory;
  readonly ignored: readonly Path[];
  /** The items as the client has sent them. */
  readonly sent: readonly Item[];
}

const runIn = (
  planned: PlannedUse,
  { request, context }: Turn,
  engine: Engine,
  deps: WorkspaceEngineDeps,
): Plan['run'] => {
  const { workspace, tools, needsApproval } = planned.use;
  const { approved } = planned.history;
  const approvals = new Approvals(approved, context, deps);
  const declined = declinedIn(planned.sent, workspace.label);
  const run: AgentRunRequest = {
    workspace,
    access: workspace.access,
    request,
    context,
    engine,
    tools: new Set(tools.map(({ name }) => name)),
    needsApproval,
    approved: approved.map(({ requestId, call }) => ({ requestId, call })),
    maxCalls: request.maxToolCalls,
  };
  const begin = (signal: AbortSignal): Promise<AgentRun> => {
    const start = () =>
      approvals.whileStarting(async () => {
        if (deps.runs.free(workspace) <= 0) throw busy(workspace);
        const started = await deps.runs.start(run, signal);
        for (let count = 0; count < declined; count += 1) deps.onDeclined(workspace.label);
        return started;
      });
    return context.isBackground === true ? whenFree(workspace, start, signal, deps) : start();
  };
  return (signal, onSettled) => {
    let isAccepted = false;
    const onAccepted = (): void => {
      isAccepted = true;
    };
    return wellFormed(eventsOf(begin, planned, deps, { signal, onSettled, onAccepted }), {
      clock: deps.ambient.clock,
      onThrow(error) {
        if (!isAccepted || signal.aborted || !(error instanceof GatewayError)) throw error;
        return { kind: 'failed', failure: error.failure };
      },
    });
  };
};

type StartRun = () => Promise<AgentRun>;

const busy = ({ label }: Workspace): GatewayError =>
  agentError('workspace_busy', {
    message: `The workspace '${label}' is in use. Please try again later.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const RETRY_AFTER_SECONDS = 5;

/** Waits for the workspace, because the client does not. */
const whenFree = async (
  workspace: Workspace,
  start: StartRun,
  signal: AbortSignal,
  { runs, maxWaitMs, ambient }: WorkspaceEngineDeps,
): Promise<AgentRun> => {
  const until = ambient.clock.now() + maxWaitMs;
  for (;;) {
    const freed = Promise.withResolvers<true>();
    const stop = runs.whenFree(() => {
      if (runs.free(workspace) > 0) freed.resolve(true);
    });
    try {
      const left = Math.max(0, until - ambient.clock.now());
      const isFree = runs.free(workspace) > 0 || (await unlessAborted(within(freed.promise, left), signal));
      if (isFree !== true) throw busy(workspace);
    } finally {
      stop();
    }
    const run = await start().catch((error: unknown) => {
      if (!(error instanceof GatewayError) || error.failure.code !== BUSY) throw error;
      return null;
    });
    if (run !== null) return run;
    // Another run was faster.
    await pause(PAUSE_MS, signal);
  }
};

const BUSY = 'workspace_busy';
const PAUSE_MS = 100;

/** The approvals of a turn. They are used up when the run that has their calls has started. */
class Approvals {
  readonly #calls: readonly ApprovedCodexCall[];
  readonly #context: TurnContext;
  readonly #deps: WorkspaceEngineDeps;
  #isUsed = false;

  constructor(calls: readonly ApprovedCodexCall[], context: TurnContext, deps: WorkspaceEngineDeps) {
    this.#calls = calls;
    this.#context = context;
    this.#deps = deps;
  }

  async whileStarting(start: StartRun): Promise<AgentRun> {
    // A turn that is run again: the calls may have run.
    if (this.#isUsed) throw gatewayError('worker_lost');
    const { approvals, keepApprovalsMs, ambient } = this.#deps;
    const owner = this.#context.caller.keyId;
    const used: string[] = [];
    let mayHaveRun = false;
    try {
      for (const call of this.#calls) {
        const id = storedId(call);
        const isFirst = await approvals.useApproval(owner, id, ambient.clock.now() + keepApprovalsMs);
        if (!isFirst) throw agentError('approval_already_used', { path: { item: call.place } });
        used.push(id);
      }
      mayHaveRun = this.#calls.length > 0;
      return await start();
    } catch (error) {
      mayHaveRun &&= !(error instanceof GatewayError && NOT_BEGUN.has(error.failure.code));
      if (!mayHaveRun) await Promise.allSettled(used.map((id) => approvals.giveBackApproval(owner, id)));
      throw error;
    } finally {
      this.#isUsed = mayHaveRun;
    }
  }
}

/** With these failures no call has run. A run that was ended while it started may have begun with its calls. */
const NOT_BEGUN = new Set<string>([BUSY, 'worker_unavailable', 'mcp_server_unavailable', 'shutting_down']);

/** Clients write these ids. */
const MAX_ID_CHARS = 128;

const storedId = ({ requestId }: ApprovedCodexCall): string =>
  requestId.length <= MAX_ID_CHARS ? requestId : createHash('sha256').update(requestId).digest('base64url');

interface EventsHow {
  readonly signal: AbortSignal;
  readonly onSettled: (() => void) | undefined;
  readonly onAccepted: () => void;
}

/** The events of the run for clients of models, with the list of tools before them. */
async function* eventsOf(
  begin: (signal: AbortSignal) => Promise<AgentRun>,
  { use, history, ignored }: PlannedUse,
  { ambient }: WorkspaceEngineDeps,
  { signal, onSettled, onAccepted }: EventsHow,
): AsyncGenerator<TurnEvent> {
  const { label } = use.workspace;
  const left = new AbortController();
  const tools = listedToolsEvents(ambient.ids.mint('mcpl'), label, use.tools);
  let preface = history.listed.has(label) ? [] : tools;
  const requestIds = new RequestIds(label, ambient.ids);
  let events: AsyncIterator<AgentEvent> | null = null;
  try {
    const run = await begin(firstAborted(signal, left.signal));
    events = run.events[Symbol.asyncIterator]();
    for (let step = await events.next(); step.done !== true; step = await events.next()) {
      const event = step.value;
      if (!isTurnEvent(event)) continue;
      onAccepted();
      if (event.type === 'turn-accepted') {
        yield { ...event, ignored: [...ignored, ...learnt(event.ignored, ignored)] };
        yield* preface;
        preface = [];
        continue;
      }
      if (event.type === 'turn-ended') onSettled?.();
      else yield* preface;
      preface = [];
      yield requestIds.rename(event);
    }
  } finally {
    left.abort(LEFT);
    await events?.return?.();
  }
}

/** One for all, because an abort without a reason creates an error with a stack. */
const LEFT = new DOMException('the client of the run has left', 'AbortError');

const isRequestOf = (label: string, item: Produced): boolean =>
  item.kind === 'opaque' && item.raw.type === 'mcp_approval_request' && item.raw['server_label'] === label;

/** Some backends number their calls: an approval must not be taken for that of another conversation. */
class RequestIds {
  readonly #label: string;
  readonly #ids: IdSource;
  readonly #renamed = new Map<string, string>();

  constructor(label: string, ids: IdSource) {
    this.#label = label;
    this.#ids = ids;
  }

  rename(event: TurnEvent): TurnEvent {
    if (event.type !== 'item-started' && event.type !== 'item-ended') return event;
    const { item } = event;
    if (!isRequestOf(this.#label, item) || isRandomId(item.id)) return event;
    const id = this.#renamed.get(item.id) ?? this.#ids.mint('mcpr');
    this.#renamed.set(item.id, id);
    return { ...event, item: { ...item, id } };
  }
}

/** Settings that the backend turned out not to honour. Other parts are those of codex's own request. */
const learnt = (paths: readonly Path[], known: readonly Path[]): readonly Path[] =>
  paths.filter((path) => typeof path === 'string' && path !== 'maxToolCalls' && !known.includes(path));
