import { measured, NO_TRACE, type OpenSpan } from '../../../canonical/context/trace.ts';
import { tokenFacts } from '../../../canonical/events/usage.ts';
import { allTools, CallableTools } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { AppServer, ThreadSignal } from '../../../codex/app-server.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import { RpcSource } from '../../../codex/sources/rpc-source.ts';
import type { SourceOptions, TurnSource } from '../../../codex/sources/source.ts';
import { injectedOf, toInjectItems } from '../../../codex/translate/inject-items.ts';
import { toThreadStart, type ThreadSettings } from '../../../codex/translate/thread-start.ts';
import { toReviewStart, toTurnStart } from '../../../codex/translate/turn-start.ts';
import type { WorkerLease } from '../../../codex/worker/supervisor.ts';
import { yieldToLoop } from '../../../kit/async/event-loop.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import {
  rpcFailure,
  closeTurn,
  startReview,
  startTurn,
  recordEarlier,
  tracedAppServer,
  type RunningTurn,
} from '../../attempt/app-server-turn.ts';
import type { McpTurn } from '../../mcp/mcp-turn.ts';
import type { DrivenTurn, TurnEnd, TurnSignal, AttemptParams } from '../driver.ts';
import { threadKind, type PreStartedThreads, type ThreadKind } from './pre-started-threads.ts';

/**
 * Handles a tool call of the app-server, which runs the client's tools only without a relay. A call for the client stays
 * open: it is in the answer, whose end interrupts the turn. Other calls fail as codex fails calls of unknown tools.
 */
export const answerCall = (
  call: Extract<ThreadSignal, { kind: 'tool-call' }>,
  callable: CallableTools,
): void => {
  const { tool, namespace } = isJsonObject(call.params) ? call.params : {};
  const isForClient =
    typeof tool === 'string' &&
    callable.has(tool, 'function', typeof namespace === 'string' ? namespace : undefined);
  if (isForClient) return;
  const text = `unsupported call: ${JSON.stringify(tool ?? null)}`;
  call.respond({ contentItems: [{ type: 'inputText', text }], success: false });
};

export interface RpcTurnDeps {
  readonly settings: ThreadSettings;
  readonly preStarted: PreStartedThreads;
}

/** A turn over JSON-RPC: a fresh thread with the tools and settings of the client, its whole history, one turn. */
export class RpcTurn implements DrivenTurn {
  readonly report = null;
  readonly #deps: RpcTurnDeps;
  readonly #lease: WorkerLease;
  readonly #appServer: AppServer;
  readonly #params: AttemptParams;
  readonly #request: TurnRequest;
  readonly #callable: CallableTools;
  #threadId: string | null = null;
  #running: RunningTurn | null = null;
  #kind: ThreadKind | null = null;
  #unwatch: () => void = () => {};
  #isEnded = false;
  /** The app-server's model requests, which are not seen. */
  #asking: OpenSpan = NO_TRACE;

  constructor(deps: RpcTurnDeps, lease: WorkerLease, params: AttemptParams) {
    this.#deps = deps;
    this.#lease = lease;
    this.#appServer = tracedAppServer(lease.appServer, params.context.trace);
    this.#params = params;
    this.#request = params.draft.request;
    this.#callable = new CallableTools(allTools(this.#request), this.#request.toolChoice);
  }

  async start(mcp: McpTurn | null, receive: (signal: TurnSignal) => void): Promise<string> {
    const { trace } = this.#params.context;
    const turnId = await measured(trace.begin('app-server'), () => this.#start(mcp, receive), rpcFailure);
    this.#asking = trace.begin('model-request', { model: this.#request.model, transport: 'app-server' });
    return turnId;
  }

  async #start(mcp: McpTurn | null, receive: (signal: TurnSignal) => void): Promise<string> {
    const { draft, context, signal, approved } = this.#params;
    const { settings, preStarted } = this.#deps;
    const { strategy } = draft;
    const appServer = this.#appServer;
    const start = toThreadStart(this.#request, settings, strategy, mcp?.config);
    // MCP servers have processes, which are for this turn only.
    const kind = mcp === null ? threadKind(start) : { start, key: null };
    const taken = preStarted.take(this.#lease, kind);
    if (taken !== null) {
      const result = { thread: { id: taken } };
      recordEarlier(context.trace, [{ method: 'thread/start', params: start, result }]);
    }
    const threadId = taken ?? (await this.#startThread(mcp, kind.start));
    this.#threadId = threadId;
    this.#kind = kind;
    await this.#unlessEnded(threadId);
    this.#unwatch = appServer.watchThread(threadId, (received) => this.#receive(received, receive));
    const request =
      mcp === null ? this.#request : await mcp.prepare(this.#request, appServer, threadId, approved);
    await this.#unlessEnded();
    await yieldToLoop(signal);
    const items = toInjectItems(injectedOf(request, settings, strategy));
    const isReview = request.isReview === true;
    if (items.length > 0 && !isReview)
      await appServer.request('thread/inject_items', { threadId, items }, { signal });
    await this.#unlessEnded();
    // The model request is not seen.
    context.budget.take();
    const { turnId, running } = isReview
      ? await startReview(appServer, toReviewStart(request, threadId))
      : await startTurn(appServer, toTurnStart(request, threadId));
    this.#running = running;
    await this.#unlessEnded(threadId);
    return turnId;
  }

  sourceOf(options: SourceOptions): TurnSource {
    return new RpcSource({ ...options, budget: this.#params.context.budget });
  }

  begin(): void {}
  heard(): void {}

  async end({ usage }: TurnEnd): Promise<void> {
    this.#isEnded = true;
    this.#asking.end(usage === null ? {} : tokenFacts(usage));
    if (this.#kind !== null) void this.#deps.preStarted.prepare(this.#lease, this.#kind);
    await closeTurn(this.#appServer, this.#running, this.#threadId);
    // Only now: the app-server may call a tool before it sees the interrupt. A call of a thread that is not watched is
    // rejected, and then it would ask the model once more.
    this.#unwatch();
  }

  /** Throws if the client left while the turn was being started. `started`: something in this thread, which is closed. */
  async #unlessEnded(started: string | null = null): Promise<void> {
    if (!this.#isEnded) return;
    if (started !== null) await closeTurn(this.#appServer, this.#running, started);
    throw new Error('the turn was given up while it was being started');
  }

  async #startThread(mcp: McpTurn | null, start: ParamsOf<'thread/start'>): Promise<string> {
    const appServer = this.#appServer;
    const { thread } = await (mcp?.startThread(appServer, start) ?? appServer.request('thread/start', start));
    return thread.id;
  }

  #receive(signal: TurnSignal, receive: (signal: TurnSignal) => void): void {
    if (this.#isEnded) return;
    if (signal.kind === 'closed') {
      this.#running = null;
      this.#threadId = null;
    }
    if (signal.kind === 'tool-call') answerCall(signal, this.#callable);
    if (signal.kind === 'notification' && signal.method === 'turn/completed') this.#running = null;
    receive(signal);
  }
}
