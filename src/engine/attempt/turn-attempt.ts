import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
import type { Produced } from '../../canonical/request/item.ts';
import { allTools, CallableTools } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnContext } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { AppServer, ThreadSignal } from '../../codex/app-server.ts';
import { isKnownNotification, type ParamsOf } from '../../codex/protocol/methods.ts';
import type { RelayTurnHandle } from '../../codex/relay/server/relay.ts';
import { RequestTimeout } from '../../codex/rpc/errors.ts';
import { RpcSource } from '../../codex/sources/rpc-source.ts';
import { NO_MCP_TOOLS } from '../../codex/sources/mcp-calls.ts';
import type { TurnSource } from '../../codex/sources/source.ts';
import { RelaySource } from '../../codex/sources/relay-source.ts';
import type { UpstreamEvent } from '../../codex/sources/upstream-event.ts';
import { injectedOf, toInjectItems } from '../../codex/translate/inject-items.ts';
import { shapeOf, toThreadStart } from '../../codex/translate/thread-start.ts';
import type { Lease } from '../../codex/worker/supervisor.ts';
import { unlessAborted } from '../../kit/async/abort.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { answerCall } from './answer-call.ts';
import type { AttemptDeps } from './attempt-deps.ts';
import type { Draft } from '../plan/draft-turn.ts';
import { isFailed, RefusedEarly, WorkerLostEarly } from './early-ends.ts';
import { Mailbox } from './mailbox.ts';
import { McpTurn, type ApprovedResults } from '../mcp/mcp-turn.ts';
import { rpcFailure } from './rpc-failure.ts';
import { threadKind, type ThreadKind } from './pre-started-threads.ts';
import { closeTurn, startTurn, steerTurn, type RunningTurn } from './running-turn.ts';
import { recordPreStarted, tracedAppServer } from './traced-app-server.ts';
import { turnAnomalies } from './turn-anomalies.ts';
import { TurnWatch } from './turn-watch.ts';

/** More unread text than this means that the client does not read. */
const MAILBOX_MAX_BYTES = 32 * 1024 * 1024;

interface Attempt {
  readonly draft: Draft;
  readonly context: TurnContext;
  readonly signal: AbortSignal;
  /** Whether there is another attempt; called when the worker has died. */
  readonly mayRetry: () => boolean;
  /** The results of approved calls, from this attempt or an earlier one. */
  readonly approved: ApprovedResults;
}

/** One attempt at a turn on one worker: a fresh thread, the whole history, one model answer. */
export class TurnAttempt {
  readonly #deps: AttemptDeps;
  readonly #lease: Lease;
  readonly #appServer: AppServer;
  readonly #attempt: Attempt;
  readonly #request: TurnRequest;
  readonly #context: TurnContext;
  readonly #signal: AbortSignal;
  readonly #mailbox: Mailbox;
  readonly #callable: CallableTools;
  readonly #watch: TurnWatch;
  /** Signals that arrive before the turn's id is known. */
  #early: (ThreadSignal | UpstreamEvent)[] | null = [];
  #source: TurnSource | null = null;
  #threadId: string | null = null;
  #running: RunningTurn | null = null;
  #unwatch: () => void = () => {};
  #relayTurn: RelayTurnHandle | null = null;
  #kind: ThreadKind | null = null;
  /** Null: the turn has no MCP servers. */
  #mcp: McpTurn | null = null;
  #isLetGo = false;
  #onLetGo: () => void = () => {};

  constructor(deps: AttemptDeps, lease: Lease, attempt: Attempt) {
    const { draft, context, signal } = attempt;
    const { request } = draft;
    this.#deps = deps;
    this.#lease = lease;
    this.#appServer = tracedAppServer(lease.appServer, context.trace);
    this.#attempt = attempt;
    this.#request = request;
    this.#context = context;
    this.#signal = signal;
    this.#mailbox = new Mailbox(
      MAILBOX_MAX_BYTES,
      deps.unread.account(() => this.#giveUpOnReader()),
    );
    this.#callable = new CallableTools(allTools(request), request.toolChoice);
    this.#watch = new TurnWatch({
      idleTimeoutMs: deps.idleTimeoutMs,
      hasRelay: deps.relay !== null,
      end: (failed) => this.#deliver(this.#source?.end({ kind: 'failed', failure: failed }) ?? []),
    });
  }

  /** The items of the model's last answer. */
  get answer(): readonly Produced[] {
    return this.#source?.answer ?? [];
  }

  async *events(): AsyncGenerator<TurnEvent> {
    const stop = (): void => {
      this.#mailbox.giveUp(this.#signal.reason);
      // A turn that is being started is let go when it has started.
      if (this.#source !== null) this.letGo();
    };
    this.#signal.addEventListener('abort', stop, { once: true });
    try {
      await this.#start();
      let isFirst = true;
      for await (const event of this.#mailbox) {
        if (isFirst) {
          if (isFailed(event)) {
            if (event.outcome.failure.kind !== 'worker_lost') throw new RefusedEarly(event);
            if (this.#attempt.mayRetry()) throw new WorkerLostEarly();
          } else yield this.#accepted();
          isFirst = false;
        }
        yield event;
      }
      this.#signal.throwIfAborted();
    } finally {
      this.#signal.removeEventListener('abort', stop);
    }
  }

  /** A model that waits for tool outputs cannot be steered. */
  async #steer(texts: readonly string[]): Promise<void> {
    const isOver = this.#isLetGo || this.#source?.endsWithCalls === true;
    this.#context.budget.grant();
    await steerTurn(this.#appServer, isOver ? null : this.#running, texts);
  }

  /** Ends the turn upstream without waiting for it. Called when the turn has ended, and again when the reader is done. */
  letGo(): void {
    if (this.#isLetGo) return;
    this.#isLetGo = true;
    this.#watch.stop();
    this.#unwatch();
    this.#relayTurn?.close();
    this.#close();
    this.#mcp?.close();
    if (this.#kind !== null) void this.#deps.preStarted.prepare(this.#lease, this.#kind);
    this.#onLetGo();
  }

  /** Calls the listener when nothing runs upstream, which may be now. */
  whenLetGo(listener: () => void): void {
    if (this.#isLetGo) listener();
    else this.#onLetGo = listener;
  }

  #close(): void {
    void closeTurn(this.#appServer, this.#running, this.#threadId).then(() => this.#lease.release());
  }

  async #start(): Promise<void> {
    const appServer = this.#appServer;
    const { settings } = this.#deps;
    const { strategy, mcp } = this.#attempt.draft;
    try {
      this.#signal.throwIfAborted();
      this.#mcp = await McpTurn.open(mcp, this.#deps.mcp, this.#signal, this.#deps.ambient.ids);
      const start = toThreadStart(this.#request, settings, strategy, this.#mcp?.config);
      // MCP servers have processes, which are for this turn only.
      const kind = this.#mcp === null ? threadKind(start) : { start, key: null };
      const preStartedThread = this.#deps.preStarted.take(this.#lease, kind);
      this.#threadId = preStartedThread;
      if (preStartedThread !== null) recordPreStarted(this.#context.trace, preStartedThread, kind.start);
      const threadId = preStartedThread ?? (await unlessAborted(this.#startThread(kind.start), this.#signal));
      this.#kind = kind;
      this.#unwatch = appServer.watchThread(threadId, (signal) => this.#receive(signal));
      const request = await unlessAborted(this.#prepared(threadId), this.#signal);
      const injected = injectedOf(request, settings, strategy);
      this.#relayTurn =
        this.#deps.relay?.open(threadId, {
          request,
          context: this.#context,
          shape: { ...shapeOf(this.#request, settings), strategy, injected, mcp: this.#mcp },
          onUpstreamEvent: (signal) => this.#receive(signal),
          onActivity: (sign) => (sign === 'sent' ? this.#watch.sent() : this.#watch.heard()),
        }) ?? null;
      const signal = this.#signal;
      await yieldToLoop(signal);
      const items = toInjectItems(injected, this.#relayTurn === null ? 'own' : 'places');
      if (items.length > 0 && request.isReview !== true) {
        await unlessAborted(
          appServer.request('thread/inject_items', { threadId, items }, { signal }),
          signal,
        );
      }
      // Without a relay the model request is not seen.
      if (this.#relayTurn === null) this.#context.budget.take();
      const starting = startTurn(appServer, this.#request, threadId).then(({ turnId, running }) => {
        this.#running = running;
        // The client left while the turn was being started.
        if (this.#isLetGo) this.#close();
        return turnId;
      });
      this.#begin(await unlessAborted(starting, this.#signal));
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const failed = rpcFailure(error);
      // Of very many turns that begin at once, the app-server may lose one: another attempt works.
      const isLost = failed.kind === 'worker_lost' || error instanceof RequestTimeout;
      if (isLost && this.#attempt.mayRetry()) throw new WorkerLostEarly();
      throw new GatewayError(failed, { cause: error });
    }
  }

  async #startThread(start: ParamsOf<'thread/start'>): Promise<string> {
    const appServer = this.#appServer;
    const { thread } = await (this.#mcp?.startThread(appServer, start) ??
      appServer.request('thread/start', start));
    this.#threadId = thread.id;
    // The client left while the thread was being started.
    if (this.#isLetGo) this.#close();
    return thread.id;
  }

  /** The request after approved calls have run, with the names of MCP tools that the model knows. */
  async #prepared(threadId: string): Promise<TurnRequest> {
    const { approved } = this.#attempt;
    return this.#mcp?.prepare(this.#request, this.#appServer, threadId, approved) ?? this.#request;
  }

  #begin(turnId: string): void {
    const options = {
      turnId,
      callable: this.#callable,
      findMcpTool: this.#mcp?.find ?? NO_MCP_TOOLS,
      parallelToolCalls: this.#request.parallelToolCalls !== false,
      budget: this.#context.budget,
      ambient: this.#deps.ambient,
      onAnomaly: turnAnomalies(this.#deps.onAnomaly, this.#request.model),
    };
    const report = this.#relayTurn?.report ?? null;
    this.#source = report === null ? new RpcSource(options) : new RelaySource({ ...options, report });
    this.#watch.start();
    const early = this.#early ?? [];
    this.#early = null;
    for (const signal of early) this.#receive(signal);
    this.#relayTurn?.begin();
  }

  #receive(signal: ThreadSignal | UpstreamEvent): void {
    if (this.#source === null) {
      this.#early?.push(signal);
      return;
    }
    switch (signal.kind) {
      case 'closed':
        this.#running = null;
        this.#threadId = null;
        this.#deliver(this.#source.end({ kind: 'failed', failure: failure('worker_lost') }));
        return;
      case 'tool-call':
        this.#watch.heard();
        answerCall(signal, this.#callable);
        return;
      case 'notification':
        this.#watch.heard();
        if (signal.method === 'turn/completed') this.#running = null;
        if (isKnownNotification(signal)) {
          this.#deliver(this.#source.take({ kind: 'notified', notification: signal }));
        }
        return;
      case 'answer-started':
      case 'answer-said':
      case 'answer-ended':
      case 'refused':
        this.#watch.wire(signal);
        this.#deliver(this.#source.take(signal));
        // codex sends another request for calls that it does not know.
        if (this.#source.isLastAnswer) this.#relayTurn?.refuseFurtherRequests();
    }
    if (this.#mcp !== null) this.#watch.tools(this.#source.runsTools ? this.#mcp.callMs : null);
  }

  #accepted(): TurnEvent {
    this.#context.onSteerable?.((texts) => this.#steer(texts));
    const report = this.#relayTurn?.report ?? null;
    const { unsaid, leftOut } = this.#attempt.draft;
    return {
      type: 'turn-accepted',
      ignored: [...(report?.ignored ?? unsaid), ...leftOut],
      limitsOutput: report?.limitsOutput ?? false,
      headers: report?.headers ?? {},
    };
  }

  /** Ends the turn with an error: unread events are dropped. */
  #giveUpOnReader(): void {
    this.#mailbox.giveUp(gatewayError('client_too_slow'));
    this.#source?.end({ kind: 'failed', failure: failure('client_too_slow') });
    this.letGo();
  }

  #deliver(events: readonly TurnEvent[]): void {
    const [first] = events;
    if (first === undefined) return;
    this.#mcp?.count(events);
    // A turn that fails before the answer has no preface.
    const preface = isFailed(first) ? [] : (this.#mcp?.takePreface() ?? []);
    const hasRoom = this.#mailbox.push([...preface, ...events]);
    if (!hasRoom && this.#source?.ended === false) this.#giveUpOnReader();
    if (this.#source?.ended === true) {
      this.#mailbox.close();
      this.letGo();
    }
  }
}
