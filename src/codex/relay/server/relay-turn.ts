import type { Failure } from '../../../canonical/failure/failure.ts';
import type { ModelBudget } from '../../../canonical/context/model-budget.ts';
import type { Path } from '../../../canonical/request/path.ts';
import type { TraceKind } from '../../../canonical/context/trace.ts';
import type { Turn } from '../../../canonical/context/turn-context.ts';
import type { EditField } from '../../capabilities/profile.ts';
import { ineffectiveSettings } from '../../capabilities/requested-fields.ts';
import type { RelayReport, UpstreamEvent } from '../../sources/upstream-event.ts';
import type { AffinityKey } from '../request/affinity.ts';
import {
  requestEdits,
  type InputFindings,
  type BackendLimits,
  type ThreadShape,
  type RequestEdits,
} from '../request/edits.ts';
import type { Session } from '../request/headers.ts';
import { TurnAnswers } from '../request/turn-answers.ts';
import type { ModelCall } from './relayed-request.ts';

export interface RelayTurnParams extends Turn, Pick<ModelCall, 'onUpstreamEvent' | 'onActivity'> {
  readonly shape: ThreadShape;
}

export interface RelayTurnOptions extends RelayTurnParams {
  readonly threadId: string;
  readonly affinity: AffinityKey;
  readonly limits: BackendLimits;
  readonly onInput: (found: InputFindings) => void;
  readonly signIn: () => Failure | null;
}

/** One turn in the relay: the edits of its model requests, and the listeners of its answers. */
export class RelayTurn implements RelayReport, ModelCall {
  readonly session: Session;
  readonly model: string;
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  readonly onActivity: (sign: 'sent' | 'heard') => void;
  readonly edits: RequestEdits;
  readonly answers = new TurnAnswers();
  readonly #options: RelayTurnOptions;
  readonly #withheld = new Set<EditField>();
  readonly #cut = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  /** Pending while an answer is in progress. */
  #answering = Promise.withResolvers<void>();
  #isInputLost = false;
  /** Whether the model has answered once: items after ours are its own from then on. */
  #hasAnswer = false;
  headers: Readonly<Record<string, string>> = {};

  constructor(options: RelayTurnOptions) {
    const { threadId, request, context, shape, affinity, limits } = options;
    const session = {
      threadId,
      session: affinity.session,
      slug: shape.strategy.slug,
      model: request.model,
      clientMetadata: request.clientMetadata,
      // The backend of a ChatGPT login gets what codex sends, and codex sends no trace context of its
      // clients.
      ...(context.traceContext === undefined || limits.profile.isChatgpt
        ? {}
        : { traceContext: context.traceContext }),
    };
    this.#options = options;
    this.model = request.model;
    this.session = session;
    this.edits = requestEdits(request, shape, { ...session, ...affinity }, limits);
    this.onActivity = options.onActivity;
    this.onUpstreamEvent = (signal) => {
      if (signal.kind === 'answer-started') {
        this.#hasAnswer = true;
        this.#answering = Promise.withResolvers();
      }
      if (signal.kind === 'answer-ended') this.#answering.resolve();
      this.answers.see(signal);
      if (signal.kind !== 'answer-said' && this.isTraced)
        this.record('wire-signal', { signal: toldSignal(signal) });
      options.onUpstreamEvent(signal);
    };
  }

  get budget(): ModelBudget {
    return this.#options.context.budget;
  }
  get signal(): AbortSignal {
    return this.#cut.signal;
  }
  get begun(): Promise<void> {
    return this.#begun.promise;
  }
  /** Resolves when the last answer has been fully reported. */
  get answered(): Promise<void> {
    return this.#answering.promise;
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
    const { request, shape } = this.#options;
    const isSaid = (field: EditField): boolean =>
      this.#sets(field) || (field === 'text.verbosity' && shape.sendsVerbosity);
    return [...ineffectiveSettings(request, isSaid), ...(this.#isInputLost ? (['items'] as const) : [])];
  }

  onInput(found: InputFindings): void {
    this.#isInputLost ||= found.isLost;
    this.#options.onInput(found);
  }

  get isTraced(): boolean {
    return this.#options.context.trace.isRecording;
  }

  record(kind: TraceKind, facts: object): void {
    if (this.isTraced) this.#options.context.trace.record(kind, { thread: this.#options.threadId, ...facts });
  }

  withhold(field: EditField): void {
    this.#withheld.add(field);
  }

  begin(): void {
    this.#begun.resolve();
  }

  cut(): void {
    this.#cut.abort();
    // Release waiters: nothing more will come.
    this.#begun.resolve();
    this.#answering.resolve();
  }

  #sets(field: EditField): boolean {
    return this.edits.fields.has(field) && !this.#withheld.has(field);
  }
}

/** The event without the content of the answer's last event. */
const toldSignal = (signal: UpstreamEvent): object =>
  signal.kind === 'answer-ended' ? { kind: signal.kind, how: signal.how } : signal;
