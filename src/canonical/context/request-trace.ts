import type {
  DistributedTrace,
  OpenSpan,
  Recorder,
  SpanFacts,
  SpanIdentity,
  SpanName,
  Trace,
  TraceContext,
  TraceKind,
  TraceSpan,
} from './trace.ts';

/** Far more than an ordinary request has; an agent with many tool calls may have more. */
export const MAX_SPANS = 128;

export interface RequestTraceOptions {
  /** Where content is recorded; `NO_TRACE`: nowhere. */
  readonly recorder: Recorder;
  /** Milliseconds since the request arrived. */
  readonly now: () => number;
  /** Null: the request is in none, or only its client knows of it. */
  readonly distributed: Pick<DistributedTrace, 'identify'> | null;
}

/** The parts of a request that has ended. */
export interface RequestSpans {
  readonly spans: readonly TraceSpan[];
  /** How many were left out because the list was full. */
  readonly dropped: number;
}

/** The trace of one request. Its parts are always measured, in a list of limited length. */
export class RequestTrace implements Trace {
  readonly isRecording: boolean;
  readonly #options: RequestTraceOptions;
  readonly #spans: Span[] = [];
  #dropped = 0;

  constructor(options: RequestTraceOptions) {
    this.#options = options;
    this.isRecording = options.recorder.isRecording;
  }

  record(kind: TraceKind, facts: object): void {
    this.#options.recorder.record(kind, facts);
  }

  next(): number {
    return this.#options.recorder.next();
  }

  begin(name: SpanName, facts: SpanFacts = {}): OpenSpan {
    return this.beginIn(null, name, facts);
  }

  beginIn(parent: number | null, name: SpanName, facts: SpanFacts): OpenSpan {
    const place = this.#spans.length;
    const span = new Span(this, this.#options, { place, name, parent, facts });
    if (place < MAX_SPANS) this.#spans.push(span);
    else this.#dropped += 1;
    return span;
  }

  /** What has been measured; open parts end now. */
  finish(): RequestSpans {
    for (const span of this.#spans) span.end(UNFINISHED);
    return { spans: this.#spans.map((span) => span.measured()), dropped: this.#dropped };
  }
}

const UNFINISHED: SpanFacts = { isUnfinished: true };

interface SpanStart {
  readonly place: number;
  readonly name: SpanName;
  readonly parent: number | null;
  readonly facts: SpanFacts;
}

class Span implements OpenSpan {
  readonly isRecording: boolean;
  readonly #trace: RequestTrace;
  readonly #options: RequestTraceOptions;
  readonly #begun: SpanStart;
  readonly #startMs: number;
  #endMs: number | null = null;
  #facts: SpanFacts;
  #identity: SpanIdentity | null = null;

  constructor(trace: RequestTrace, options: RequestTraceOptions, begun: SpanStart) {
    this.#trace = trace;
    this.#options = options;
    this.#begun = begun;
    this.#facts = begun.facts;
    this.isRecording = trace.isRecording;
    this.#startMs = options.now();
  }

  get traceContext(): TraceContext | null {
    this.#identity ??= this.#options.distributed?.identify() ?? null;
    return this.#identity?.traceContext ?? null;
  }

  record(kind: TraceKind, facts: object): void {
    this.#trace.record(kind, facts);
  }

  next(): number {
    return this.#trace.next();
  }

  begin(name: SpanName, facts: SpanFacts = {}): OpenSpan {
    return this.#trace.beginIn(this.#begun.place, name, facts);
  }

  elapsed(): number {
    return rounded(this.#options.now() - this.#startMs);
  }

  note(facts: SpanFacts): void {
    if (this.#endMs === null) this.#facts = { ...this.#facts, ...facts };
  }

  end(facts?: SpanFacts): void {
    if (this.#endMs !== null) return;
    if (facts !== undefined) this.note(facts);
    this.#endMs = this.#options.now();
  }

  measured(): TraceSpan {
    const { name, parent } = this.#begun;
    return {
      name,
      parent,
      startMs: rounded(this.#startMs),
      endMs: rounded(this.#endMs ?? this.#startMs),
      facts: this.#facts,
      ...(this.#identity === null ? {} : { id: this.#identity.id }),
    };
  }
}

/** To microseconds. */
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
