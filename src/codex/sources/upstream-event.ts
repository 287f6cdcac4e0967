import type { Failure } from '../../canonical/failure/failure.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** What the relay sees of the answers of a turn, as it happens. */
export type UpstreamEvent =
  /** The backend has begun to answer. A turn may hold several answers of the model. */
  | { readonly kind: 'answer-started' }
  /** One event of the answer, out of those that are read. */
  | { readonly kind: 'answer-said'; readonly type: string; readonly data: JsonObject }
  /** Why a request or an answer comes to nothing; how it ends is still to be told. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  | AnswerEnded;

export type AnswerEnded =
  /** Null: the event that says so was too long to be read. */
  | { readonly kind: 'answer-ended'; readonly how: 'completed'; readonly response: JsonObject | null }
  | { readonly kind: 'answer-ended'; readonly how: 'incomplete'; readonly response: JsonObject }
  /** Cut: the backend broke off, or has said why before. Left: the app-server hung up. */
  | { readonly kind: 'answer-ended'; readonly how: 'cut' | 'left' };

/** What the relay knows about a turn's request. */
export interface RelayReport {
  /** What was asked for and did not reach the backend. */
  readonly ignored: readonly Path[];
  /** The backend was told the limit of the output. */
  readonly limitsOutput: boolean;
  /** For the caller: the backend's request id and rate limits. */
  readonly headers: Readonly<Record<string, string>>;
  /** Why the login could not be renewed of late, where that is not the login's own fault. */
  readonly signIn: Failure | null;
}
