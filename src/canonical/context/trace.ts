/**
 * Records what is sent and received for one request, on the client side and on the backend side. Facts are not changed
 * after they were recorded. The one port for captures, and for spans and a console later.
 */
export interface Trace {
  /** False: `record` does nothing, so facts that are costly to collect need not be collected. */
  readonly isRecording: boolean;
  record(kind: TraceKind, facts: object): void;
  /** A number that nothing else in the trace has, for facts that are recorded in two parts. */
  next(): number;
}

/** A trace for the one who opened it. */
export interface OpenTrace extends Trace {
  /** Records the last facts. Resolves when they are written, or cannot be. */
  end(facts: object): Promise<void>;
}

/** Records nothing. */
export const NO_TRACE: Trace = { isRecording: false, record() {}, next: () => 0 };

export type TraceKind =
  /** The settings of this server that translators read. */
  | 'settings'
  /** What the client sent: the head of its request, and then the body, with what the names of models mean. */
  | 'asked'
  | 'body'
  /** What is known of the backend. */
  | 'backend'
  /** What was put into the conversation from memory. */
  | 'recalled'
  /** An item of an earlier answer that the client refers to. */
  | 'referred'
  /** An image that was fetched. */
  | 'fetched'
  /** A call of the app-server, and what came of it. */
  | 'rpc-sent'
  | 'rpc-answered'
  | 'rpc-failed'
  /** A notification of the app-server. */
  | 'rpc-told'
  /** A call of a tool that the app-server asks us for. */
  | 'rpc-asked'
  /** A model request, before and after the relay's edits. */
  | 'wire-sent'
  /** An answer that is an error. */
  | 'wire-refused'
  /** An answer begins to come, and what of its head is for the client. */
  | 'wire-head'
  /** An event of an answer. */
  | 'wire-said'
  /** An answer begins, ends, or came to nothing. */
  | 'wire-signal'
  /** An event that was sent to the client. */
  | 'frame'
  /** The status and headers of the answer, and its body where it is JSON. */
  | 'answered'
  | 'end'
  /** The story is longer than what is kept. */
  | 'cut';
