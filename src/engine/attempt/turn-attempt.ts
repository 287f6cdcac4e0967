import { gatewayError, failure, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { Produced } from '../../canonical/request/item.ts';
import { allTools, CallableTools } from '../../canonical/request/tool.ts';
import { beginEvents, eventsBefore } from '../../canonical/events/handle-events.ts';
import { isPlain, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import { isKnownNotification } from '../../codex/protocol/methods.ts';
import { RequestTimeout } from '../../codex/rpc/errors.ts';
import { NO_MCP_TOOLS } from '../../codex/sources/mcp-calls.ts';
import type { SourceOptions, TurnSource, Anomaly, UpstreamEvent } from '../../codex/sources/source.ts';
import type { WorkerLease } from '../../codex/worker/supervisor.ts';
import { unlessAborted, IdleTimer } from '../../kit/async/wait.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { charsIn } from '../../kit/json/json.ts';
import type { DrivenTurn, TurnSignal, AttemptParams } from '../drivers/driver.ts';
import { McpTurn, ToolSpans } from '../mcp/mcp-turn.ts';
import type { McpAccess } from '../mcp/mcp-tools.ts';
import { Mailbox } from './mailbox.ts';
import { rpcFailure } from './app-server-turn.ts';
import type { UnreadTotal } from './unread-total.ts';

/** `nth`: the number of this kind of anomaly in its turn so far. */
type OnAnomaly = (anomaly: Anomaly, about: { readonly model: string; readonly nth: number }) => void;

/** Counts the anomalies of one turn, so that each kind can be logged once. */
const turnAnomalies = (onAnomaly: OnAnomaly, model: string): ((anomaly: Anomaly) => void) => {
  const counts = new Map<Anomaly, number>();
  return (anomaly) => {
    const nth = (counts.get(anomaly) ?? 0) + 1;
    counts.set(anomaly, nth);
    onAnomaly(anomaly, { model, nth });
  };
};

/** What an attempt at a turn needs, whatever drives it. */
export interface AttemptParts {
  readonly mcp: McpAccess;
  readonly idleTimeoutMs: number;
  /** What the readers of all turns have not read. */
  readonly unread: UnreadTotal;
  readonly ambient: Ambient;
  readonly onAnomaly: OnAnomaly;
}

/** What every attempt at a turn needs. */
export interface AttemptDeps extends AttemptParts {
  /** How much longer than the backend the app-server may be silent. */
  readonly graceMs: number;
}

/** The worker died or lost the turn before the client saw anything: another worker may try. */
export class WorkerLostEarly extends Error {}

type FailedTurn = Extract<TurnEvent, { type: 'turn-ended' }> & {
  readonly outcome: { readonly kind: 'failed'; readonly failure: Failure };
};

/** The turn failed before the client saw anything: another request strategy may work. */
export class RefusedEarly extends Error {
  readonly refusal: FailedTurn;

  constructor(refusal: FailedTurn) {
    super('refused');
    this.refusal = refusal;
  }
}

const isFailed = (event: TurnEvent): event is FailedTurn =>
  event.type === 'turn-ended' && event.outcome.kind === 'failed';

/** An event counts as at least so much: its frame is longer than its text, and is stored for background responses. */
const MIN_CHARS = 32;

/** How much of an answer each event is. Every text counts once, whether it was streamed or came whole. */
export class AnswerSize {
  /** What was counted of the open items. */
  readonly #open = new Map<string, number>();

  /** What the event adds to the answer, in characters. */
  of(event: TurnEvent): number {
    switch (event.type) {
      case 'item-delta': {
        const { delta, logprobs, annotation } = event;
        return this.#add(event.itemId, delta.length + (isPlain(event) ? 0 : charsIn([logprobs, annotation])));
      }
      case 'item-started':
        return this.#add(event.item.id, charsIn(event.item));
      case 'item-ended': {
        const counted = this.#open.get(event.item.id) ?? 0;
        this.#open.delete(event.item.id);
        return Math.max(charsIn(event.item) - counted, 0);
      }
      case 'item-status':
        // Previews of images are not part of the answer.
        return MIN_CHARS;
      case 'turn-accepted':
      case 'turn-ended':
        return 0;
      default:
        return assertNever(event);
    }
  }

  #add(itemId: string, size: number): number {
    const chars = Math.max(size, MIN_CHARS);
    this.#open.set(itemId, (this.#open.get(itemId) ?? 0) + chars);
    return chars;
  }
}

export interface TurnWatchOptions {
  readonly idleTimeoutMs: number;
  /** A relay watches the backend itself; then this watches the app-server, which may be silent for longer. */
  readonly graceMs: number;
  readonly end: (failed: Failure) => void;
}

/** How long the app-server may take to report what it has read, when it is busy. */
export const REPORT_MS = 30_000;

/** Ends a turn when the backend or the app-server sends nothing for too long. */
export class TurnWatch {
  readonly #options: TurnWatchOptions;
  #idleTimer: IdleTimer | null = null;
  /** The answer has ended, and the app-server decides what follows. */
  #isAnswered = false;
  #runsTools = false;

  constructor(options: TurnWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#idleTimer = new IdleTimer(this.#openMs, () => this.#silent());
  }

  /** The app-server or the backend sent something. */
  heard(): void {
    this.#idleTimer?.heard();
  }

  /** The relay sends a model request: another answer follows. */
  sent(): void {
    this.#isAnswered = false;
    this.#idleTimer?.allow(this.#openMs);
  }

  wire(signal: UpstreamEvent): void {
    this.heard();
    if (signal.kind !== 'answer-ended') return;
    this.#isAnswered = true;
    this.#idleTimer?.allow(REPORT_MS);
  }

  /** The app-server runs tools, which may be silent for `maxMs`; null: no tool is running. */
  tools(maxMs: number | null): void {
    if (maxMs === null && !this.#runsTools) return;
    this.#runsTools = maxMs !== null;
    const usual = this.#isAnswered ? REPORT_MS : this.#openMs;
    this.#idleTimer?.allow(Math.max(maxMs ?? 0, usual));
  }

  stop(): void {
    this.#idleTimer?.stop();
  }

  get #openMs(): number {
    return this.#options.idleTimeoutMs + this.#options.graceMs;
  }

  #silent(): void {
    const message = `The upstream sent nothing for ${this.#options.idleTimeoutMs / 1000} s.`;
    this.#options.end(
      this.#isAnswered ? failure('upstream_error') : failure('upstream_timeout', { message }),
    );
  }
}

/** One attempt at a turn on one worker. The driver runs the turn; this reads its signals and delivers its events. */
export class TurnAttempt {
  readonly #deps: AttemptDeps;
  readonly #lease: WorkerLease;
  readonly #turn: DrivenTurn;
  readonly #params: AttemptParams;
  readonly #mailbox: Mailbox;
  readonly #watch: TurnWatch;
  readonly #size = new AnswerSize();
  /** Signals that arrive before the turn's id is known. */
  #early: TurnSignal[] | null = [];
  #source: TurnSource | null = null;
  /** Null: the turn has no MCP servers. */
  #mcp: McpTurn | null = null;
  #tools: ToolSpans | null = null;
  #isLetGo = false;
  #onLetGo: () => void = () => {};
  #onLeft: () => void = () => {};

  constructor(deps: AttemptDeps, lease: WorkerLease, turn: DrivenTurn, params: AttemptParams) {
    this.#deps = deps;
    this.#lease = lease;
    this.#turn = turn;
    this.#params = params;
    this.#mailbox = new Mailbox(
      deps.unread.account(params.context.caller.keyId, () => this.#giveUpOnReader()),
    );
    this.#watch = new TurnWatch({
      idleTimeoutMs: deps.idleTimeoutMs,
      graceMs: deps.graceMs,
      end: (failed) => this.#deliver(this.#source?.end({ kind: 'failed', failure: failed }) ?? []),
    });
  }

  /** The items of the model's last answer. */
  get answer(): readonly Produced[] {
    return this.#source?.answer ?? [];
  }

  events(): AsyncIterable<TurnEvent> {
    return beginEvents(() => this.#accept());
  }

  /** Starts the turn, and waits for its first event: it tells whether the backend has accepted it. */
  async #accept(): Promise<AsyncIterator<TurnEvent>> {
    const { signal } = this.#params;
    const stop = (): void => {
      this.#mailbox.giveUp(signal.reason);
      // A turn that is being started is let go when it has started.
      if (this.#source !== null) this.letGo();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#onLeft = () => signal.removeEventListener('abort', stop);
    await this.#start();
    const events = this.#mailbox[Symbol.asyncIterator]();
    const { value: first } = await events.next();
    signal.throwIfAborted();
    if (first === undefined) return events;
    if (!isFailed(first)) return eventsBefore([this.#accepted(), first], events);
    if (first.outcome.failure.kind !== 'worker_lost') throw new RefusedEarly(first);
    if (this.#params.mayRetry()) throw new WorkerLostEarly();
    return eventsBefore([first], events);
  }

  /** The reader is done: nothing of the turn is needed any more. */
  leave(): void {
    this.#onLeft();
    this.letGo();
  }

  /** Ends the turn upstream without waiting for it. Called when the turn has ended, and again when the reader has left. */
  letGo(ended: Extract<TurnEvent, { type: 'turn-ended' }> | null = null): void {
    if (this.#isLetGo) return;
    this.#isLetGo = true;
    this.#watch.stop();
    const isComplete = ended?.outcome.kind === 'completed' && this.#source?.endsWithCalls === false;
    const usage: Usage | null = ended?.usage ?? null;
    void this.#turn.end({ isComplete, usage }).then(() => this.#lease.release());
    this.#mcp?.close();
    this.#onLetGo();
  }

  /** Calls the listener when nothing runs upstream, which may be now. */
  whenLetGo(listener: () => void): void {
    if (this.#isLetGo) listener();
    else this.#onLetGo = listener;
  }

  async #start(): Promise<void> {
    const { draft, signal, context } = this.#params;
    const { ids } = this.#deps.ambient;
    const { trace } = context;
    try {
      signal.throwIfAborted();
      this.#mcp = await McpTurn.open(draft.mcp, this.#deps.mcp, { signal, ids, trace });
      if (this.#mcp !== null) this.#tools = new ToolSpans(trace);
      const starting = this.#turn.start(this.#mcp, this.#receive);
      this.#begin(await unlessAborted(starting, signal));
    } catch (error) {
      if (signal.aborted) throw error;
      const failed = rpcFailure(error);
      // Of very many turns that begin at once, the app-server may lose one: another attempt works.
      const isLost = failed.kind === 'worker_lost' || error instanceof RequestTimeout;
      if (isLost && this.#params.mayRetry()) throw new WorkerLostEarly();
      throw new GatewayError(failed, { cause: error });
    }
  }

  #begin(turnId: string): void {
    const { request } = this.#params.draft;
    const options: SourceOptions = {
      turnId,
      callable: new CallableTools(allTools(request), request.toolChoice),
      findMcpTool: this.#mcp?.find ?? NO_MCP_TOOLS,
      parallelToolCalls: request.parallelToolCalls !== false,
      ambient: this.#deps.ambient,
      onAnomaly: turnAnomalies(this.#deps.onAnomaly, request.model),
    };
    this.#source = this.#turn.sourceOf(options);
    this.#watch.start();
    const early = this.#early ?? [];
    this.#early = null;
    for (const signal of early) this.#receive(signal);
    this.#turn.begin();
  }

  readonly #receive = (signal: TurnSignal): void => {
    const source = this.#source;
    if (source === null) {
      this.#early?.push(signal);
      return;
    }
    switch (signal.kind) {
      case 'closed':
        this.#deliver(source.end({ kind: 'failed', failure: failure('worker_lost') }));
        return;
      case 'tool-call':
        this.#watch.heard();
        return;
      case 'activity':
        if (signal.of === 'sent') this.#watch.sent();
        else this.#watch.heard();
        return;
      case 'notification':
        this.#watch.heard();
        if (isKnownNotification(signal))
          this.#deliver(source.take({ kind: 'notified', notification: signal }));
        return;
      case 'answer-started':
      case 'answer-said':
      case 'answer-ended':
      case 'refused':
        // That an answer goes on is an activity, which was reported before, and not its end.
        if (signal.kind === 'answer-said') this.#deliver(source.take(signal));
        else {
          this.#watch.wire(signal);
          this.#deliver(source.take(signal));
          this.#turn.heard(source);
        }
    }
    if (this.#mcp !== null) this.#watch.tools(source.runsTools ? this.#mcp.callMs : null);
  };

  #accepted(): TurnEvent {
    const { draft } = this.#params;
    const { report } = this.#turn;
    return {
      type: 'turn-accepted',
      ignored: [...(report?.ignored ?? draft.unsaid), ...draft.leftOut],
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

  /** The same events, or with the end of an answer that has become too large. */
  #withinSize(events: readonly TurnEvent[]): readonly TurnEvent[] {
    let chars = 0;
    for (const event of events) chars += this.#size.of(event);
    if (this.#params.context.budget.write(chars) || this.#source?.ended !== false) return events;
    return [...events, ...this.#source.end({ kind: 'failed', failure: failure('answer_too_large') })];
  }

  #deliver(received: readonly TurnEvent[]): void {
    const [first] = received;
    if (first === undefined) return;
    const events = this.#withinSize(received);
    this.#mcp?.count(events);
    this.#tools?.see(events);
    // A turn that fails before the answer has no preface.
    const preface = isFailed(first) ? [] : (this.#mcp?.takePreface() ?? []);
    this.#mailbox.push(preface.length === 0 ? events : [...preface, ...events]);
    if (this.#source?.ended === true) {
      this.#mailbox.close();
      const last = events.at(-1);
      this.letGo(last?.type === 'turn-ended' ? last : null);
    }
  }
}
