import { failureOf, type Failure } from '../failure/failure.ts';

/** Records what is sent and received for one request, on both sides. Recorded facts must not be changed. */
export interface Recorder {
  /** False if `record` does nothing, so that expensive facts need not be collected. */
  readonly isRecording: boolean;
  record(kind: TraceKind, facts: object): void;
  /** A number that is unique in the trace, to connect facts that are recorded in two parts. */
  next(): number;
}

/** A recorder for its owner, which ends it. */
export interface OpenRecorder extends Recorder {
  /** Records the last facts. Resolves when they are written or cannot be. */
  end(facts: object): Promise<void>;
}

/** Records a request, and measures the parts that it consists of. */
export interface Trace extends Recorder {
  /** Begins to measure a part. */
  begin(name: SpanName, facts?: SpanFacts): OpenSpan;
}

/** A part that is being measured. It is a trace, too: what is begun in it is a part of this part. */
export interface OpenSpan extends Trace {
  /** For requests that are sent in this part; null: they belong to the trace of the client, if there is one. */
  readonly traceContext: TraceContext | null;
  /** Milliseconds since it began. */
  elapsed(): number;
  note(facts: SpanFacts): void;
  /** The first call counts. */
  end(facts?: SpanFacts): void;
}

/** W3C Trace Context. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** The place of a request in a distributed trace. */
export interface DistributedTrace {
  /** For whatever the request starts. */
  readonly context: TraceContext;
  /** Gives a part of the request an id. */
  identify(): SpanIdentity;
}

export interface SpanIdentity {
  readonly id: string;
  readonly traceContext: TraceContext;
}

/** A part that was measured. Times are milliseconds since the request arrived. */
export interface TraceSpan {
  readonly name: SpanName;
  /** Its place in the list; null: it is a part of the request itself. */
  readonly parent: number | null;
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: SpanFacts;
  /** Its id in a distributed trace, if it was sent to others. */
  readonly id?: string;
}

/** Never content: names, numbers, codes. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | null>>;

export type SpanName =
  /** The body is received, checked and translated. */
  | 'read'
  /** The limits of the key are reserved. */
  | 'reserve'
  | 'plan'
  /** Waits for a slot. */
  | 'queue'
  /** An image of the request is fetched. */
  | 'fetch'
  /** One attempt at a turn on one worker. */
  | 'attempt'
  /** Until the app-server has sent the model request. */
  | 'app-server'
  | 'model-request'
  /** codex works in a workspace. */
  | 'run'
  /** A call of an MCP server, or of a tool of codex in a workspace. */
  | 'tool'
  /** The answer is written to the store, before the client sees its end. */
  | 'store'
  /** The moment of the first text or call. */
  | 'first-delta'
  /** The moment at which an answer was complete. What follows is its delivery. */
  | 'end';

/** Records and measures nothing: every part of it is itself. */
export const NO_TRACE: OpenSpan = {
  isRecording: false,
  record() {},
  next: () => 0,
  begin: () => NO_TRACE,
  traceContext: null,
  elapsed: () => 0,
  note() {},
  end() {},
};

export type TraceKind =
  /** The settings of this server that translators read. */
  | 'settings'
  /** The client's request: the headers, then the body with its resolved model names. */
  | 'asked'
  | 'body'
  /** Known facts about the backend. */
  | 'backend'
  /** Reasoning that was restored from memory. */
  | 'recalled'
  /** A retry, and why. */
  | 'retry'
  /** An item of an earlier answer that the client references. */
  | 'referred'
  /** The items of the stored conversation that the request continues. */
  | 'continued'
  /** A fetched image. */
  | 'fetched'
  /** A call to the app-server, and its result. */
  | 'rpc-sent'
  | 'rpc-answered'
  | 'rpc-failed'
  /** A notification of the app-server. */
  | 'rpc-told'
  /** A request from the app-server to run a tool. */
  | 'rpc-asked'
  /** A model request, before and after the relay's edits. */
  | 'wire-sent'
  /** An error response of the backend. */
  | 'wire-refused'
  /** An answer starts; has the headers for the client. */
  | 'wire-head'
  /** An event of an answer. */
  | 'wire-said'
  /** An answer starts, ends or fails. */
  | 'wire-signal'
  /** An event that was sent to the client. */
  | 'frame'
  /** The status and headers of the response, and its body if it is JSON. */
  | 'answered'
  /** The parts of the request and how long they took. */
  | 'spans'
  | 'end'
  /** The trace exceeds its size limit. */
  | 'cut';

/** Ends the span with the work; if that fails, with the code of the failure. */
export const measured = async <Value>(
  span: OpenSpan,
  work: () => Promise<Value>,
  toFailure: (error: unknown) => Failure = failureOf,
): Promise<Value> => {
  try {
    return await work();
  } catch (error) {
    span.end({ error: toFailure(error).code });
    throw error;
  } finally {
    span.end();
  }
};
