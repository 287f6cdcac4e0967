/** Records what is sent and received for one request, on both sides. Recorded facts must not be changed. */
export interface Trace {
  /** False if `record` does nothing, so that expensive facts need not be collected. */
  readonly isRecording: boolean;
  record(kind: TraceKind, facts: object): void;
  /** A number that is unique in the trace, to connect facts that are recorded in two parts. */
  next(): number;
}

/** A trace for its owner, which ends it. */
export interface OpenTrace extends Trace {
  /** Records the last facts. Resolves when they are written or cannot be. */
  end(facts: object): Promise<void>;
}

/** Records nothing. */
export const NO_TRACE: Trace = { isRecording: false, record() {}, next: () => 0 };

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
  | 'end'
  /** The trace exceeds its size limit. */
  | 'cut';
