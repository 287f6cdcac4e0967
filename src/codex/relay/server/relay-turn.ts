import type { Failure } from '../../../canonical/failure/failure.ts';
import type { ModelBudget } from '../../../canonical/context/model-budget.ts';
import type { Path } from '../../../canonical/request/path.ts';
import { NO_TRACE, type OpenSpan, type TraceKind, type SpanFacts } from '../../../canonical/context/trace.ts';
import type { Turn } from '../../../canonical/context/turn-context.ts';
import { type EditField, backendTier } from '../../capabilities/profile.ts';
import { ineffectiveSettings } from '../../capabilities/requested-fields.ts';
import type { RelayReport, UpstreamEvent, AnswerEnded } from '../../sources/source.ts';
import type { AfterAnswer } from '../answer/app-server-answer.ts';
import type { AffinityKey } from '../request/affinity.ts';
import { requestEdits, type BackendLimits, type RequestEdits, type RequestShape } from '../request/edits.ts';
import { routingHintOf, type Session } from '../request/headers.ts';
import type { McpShape } from '../request/mcp-namespaces.ts';
import { OwnItems, TurnAnswers } from '../request/turn-answers.ts';
import { windowIdOf } from '../request/turn-metadata.ts';
import type { ModelCall } from './relayed-request.ts';
import { tokenFacts } from '../../../canonical/events/usage.ts';
import { readUsage } from '../../sources/response-usage.ts';

export interface RelayTurnParams extends Turn, Pick<ModelCall, 'onUpstreamEvent' | 'onActivity'> {
  readonly shape: RequestShape;
  /** The backend's id of the conversation. */
  readonly session: string;
}

interface RelayTurnOptions extends Omit<RelayTurnParams, 'session'> {
  readonly thread: AppServerTurn;
  readonly affinity: AffinityKey;
  readonly limits: BackendLimits;
  /** The backend's id of the turn, and when it started. */
  readonly turnId: string;
  readonly startedAtMs: number;
  /** Whether the app-server has nothing to do with most of its answers: no tools of its own, and no review. */
  readonly holdsAnswers: boolean;
  readonly signIn: () => Failure | null;
}

/** The app-server's names of a turn. */
interface AppServerTurn {
  readonly threadId: string;
  readonly turnId: string;
  /** The model name that the thread was started with. */
  readonly slug: string;
}

/** One for all, because an abort without a reason creates an error with a stack. */
const CUT = new DOMException('the turn is over', 'AbortError');

/** One turn in the relay: the edits of its model requests, and the listeners of its answers. */
export class RelayTurn implements RelayReport, ModelCall {
  readonly model: string;
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  readonly onActivity: (sign: 'sent' | 'heard') => void;
  readonly edits: RequestEdits;
  readonly answers = new TurnAnswers();
  readonly own = new OwnItems();
  readonly #options: RelayTurnOptions;
  readonly #session: Session;
  readonly #withheld = new Set<EditField>();
  readonly #cut = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  /** Pending until the newest model request is over. */
  #last: Promise<void> = Promise.resolve();
  /** Ends the model request that is in progress. */
  #over: () => void = () => {};
  /** Whether the model has answered once: items after ours are its own from then on. */
  #hasAnswer = false;
  /** Whether the newest model request has output. */
  #hasOutput = false;
  /** Whether the newest answer is complete, so that nothing runs at the backend. */
  #isAnswered = false;
  /** Whether the app-server acts on something of this turn: an answer, an error, or a connection that it has closed. */
  #hasPassed = false;
  /** Whether a model request of the app-server waits for an answer of this turn. */
  #isAsked = false;
  /** Whether any has. */
  wasAsked = false;
  after: AfterAnswer | null = null;
  headers: Readonly<Record<string, string>> = {};
  answerBytes = 0;
  requestSpan: OpenSpan = NO_TRACE;

  constructor(options: RelayTurnOptions) {
    const { thread, request, shape, affinity, limits, turnId, startedAtMs } = options;
    const { profile } = limits;
    const hint = profile.isChatgpt
      ? routingHintOf(request.model, backendTier(request.serviceTier, profile))
      : undefined;
    const session = {
      threadId: thread.threadId,
      session: affinity.session,
      slug: thread.slug,
      model: request.model,
      turn: {
        appServerTurnId: thread.turnId,
        turnId,
        startedAtMs,
        windowId: windowIdOf(affinity.session),
        effort: request.reasoning.effort,
      },
      clientMetadata: request.clientMetadata,
      ...(hint === undefined ? {} : { routingHint: hint }),
    };
    this.#options = options;
    this.model = request.model;
    this.#session = session;
    this.edits = requestEdits(request, shape, { ...session, ...affinity }, limits);
    this.onActivity = options.onActivity;
    this.onUpstreamEvent = (signal) => {
      if (signal.kind === 'answer-started') this.#hasAnswer = true;
      this.#measure(signal);
      this.#isAnswered = signal.kind === 'answer-ended';
      if (signal.kind === 'answer-ended') this.#over();
      // Most events are deltas, which neither needs.
      if (signal.kind !== 'answer-said' || signal.type === 'response.output_item.done') {
        this.answers.see(signal);
        this.own.see(signal);
      }
      if (signal.kind !== 'answer-said' && this.isTraced)
        this.record('wire-signal', { signal: toldSignal(signal) });
      options.onUpstreamEvent(signal);
    };
  }

  /** As the newest model request names it. */
  get session(): Session {
    const { context, limits } = this.#options;
    // The backend of a ChatGPT login gets what codex sends, and codex sends no trace context of its
    // clients.
    if (limits.profile.isChatgpt) return this.#session;
    const traceContext = this.requestSpan.traceContext ?? context.traceContext;
    return traceContext === undefined ? this.#session : { ...this.#session, traceContext };
  }
  get mcp(): McpShape | null {
    return this.#options.shape.mcp;
  }
  get turn(): Turn {
    return this.#options;
  }
  get budget(): ModelBudget {
    return this.#options.context.budget;
  }
  get signal(): AbortSignal {
    return this.#cut.signal;
  }
  get withheld(): ReadonlySet<EditField> {
    return this.#withheld;
  }
  get isFirstRequest(): boolean {
    return !this.#hasAnswer;
  }
  get signIn() {
    return this.#options.signIn();
  }
  get limitsOutput(): boolean {
    return this.#sets('max_output_tokens');
  }
  get ignored(): readonly Path[] {
    return ineffectiveSettings(this.#options.request, (field) => this.#sets(field));
  }

  get holdsAnswers(): boolean {
    return this.#options.holdsAnswers;
  }

  get isTraced(): boolean {
    return this.#options.context.trace.isRecording;
  }

  sending(host: string): void {
    this.#hasOutput = false;
    this.requestSpan = this.#options.context.trace.begin('model-request', { model: this.model, host });
  }

  record(kind: TraceKind, facts: object): void {
    if (this.isTraced)
      this.#options.context.trace.record(kind, { thread: this.#options.thread.threadId, ...facts });
  }

  /**
   * Waits until the model requests before this one are over, so that no two of a turn are sent at the same time: steering
   * makes codex disconnect and send a new request, which may arrive before the disconnect. The result must be called
   * when this request is over; the end of its answer counts, too.
   */
  async enter(): Promise<() => void> {
    const over = Promise.withResolvers<void>();
    const before = this.#last;
    this.#last = over.promise;
    await before;
    if (!this.isFirstRequest) await this.#begun.promise;
    this.#over = over.resolve;
    this.#isAsked = true;
    this.wasAsked = true;
    return () => {
      this.#isAsked = false;
      over.resolve();
    };
  }

  passed(bytes: number): void {
    this.#hasPassed = true;
    this.answerBytes += bytes;
  }

  /** The client needs nothing more. Whether the app-server can go on as told: it knows nothing of this turn. */
  letGo(after: AfterAnswer): boolean {
    if (!this.holdsAnswers || this.#hasPassed || (after === 'completes' && !this.#isAsked)) return false;
    this.after = after;
    // The rest of a complete answer is read, so that its connection can be used again.
    if (!this.#isAnswered) this.cut();
    return true;
  }

  withhold(field: EditField): void {
    this.#withheld.add(field);
  }

  begin(): void {
    this.#begun.resolve();
  }

  cut(): void {
    this.#cut.abort(CUT);
    // Release waiters: nothing more will come.
    this.#begun.resolve();
    this.#over();
  }

  #measure(signal: UpstreamEvent): void {
    if (signal.kind !== 'answer-said') noteAnswer(this.requestSpan, signal);
    else if (!this.#hasOutput && signal.type.endsWith('.delta')) {
      this.#hasOutput = true;
      this.requestSpan.note({ firstDeltaMs: this.requestSpan.elapsed() });
    }
  }

  #sets(field: EditField): boolean {
    return this.edits.fields.has(field) && !this.#withheld.has(field);
  }
}

/** The event without the content of the answer's last event. */
const toldSignal = (signal: UpstreamEvent): object =>
  signal.kind === 'answer-ended' ? { kind: signal.kind, how: signal.how } : signal;

/** Notes in the span of a model request what its answer reports, and ends it with the answer. */
const noteAnswer = (span: OpenSpan, signal: Exclude<UpstreamEvent, { kind: 'answer-said' }>): void => {
  if (signal.kind === 'refused') span.note({ error: signal.failure.code });
  else if (signal.kind === 'answer-ended') span.end(endOf(signal));
};

const endOf = (ended: AnswerEnded): SpanFacts => {
  if (!('response' in ended)) return { end: ended.how };
  const { how, response } = ended;
  const usage = readUsage(response);
  const model = response?.['model'];
  return {
    end: how,
    ...(typeof model === 'string' ? { servedModel: model.slice(0, MAX_NAME) } : {}),
    ...(usage === null ? {} : tokenFacts(usage)),
  };
};

const MAX_NAME = 200;
