import type { Failure } from '../../canonical/failure/failure.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** What the relay sees of a turn's answers, as it happens. */
export type UpstreamEvent =
  /** The backend has started to answer. A turn may have several answers of the model. */
  | { readonly kind: 'answer-started' }
  /** One event of the answer, among those that are read. */
  | { readonly kind: 'answer-said'; readonly type: string; readonly data: JsonObject }
  /** Why a request or an answer failed; how it ends follows. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  | AnswerEnded;

export type AnswerEnded =
  /** Null: the final event was too long to read. */
  | { readonly kind: 'answer-ended'; readonly how: 'completed'; readonly response: JsonObject | null }
  | { readonly kind: 'answer-ended'; readonly how: 'incomplete'; readonly response: JsonObject }
  /** `cut`: the backend broke off, or has reported why before. `left`: the app-server disconnected. */
  | { readonly kind: 'answer-ended'; readonly how: 'cut' | 'left' };

/** What the relay knows about a turn's request. */
export interface RelayReport {
  /** Requested settings that did not reach the backend. */
  readonly ignored: readonly Path[];
  /** Whether the backend received the output limit. */
  readonly limitsOutput: boolean;
  /** For the client: the backend's request id and rate limits. */
  readonly headers: Readonly<Record<string, string>>;
  /** Why the login could not be renewed recently, if that is not the login's own fault. */
  readonly signIn: Failure | null;
}
