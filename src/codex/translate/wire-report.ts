import type { Failure } from '../../canonical/failure.ts';
import type { IncompleteReason } from '../../canonical/outcome.ts';
import type { Path } from '../../canonical/path.ts';
import type { Usage } from '../../canonical/usage.ts';
import type { ResponseItem } from '../protocol/generated/ResponseItem.ts';

/** What the relay saw of an answer and the app-server does not tell. */
export interface WireReport {
  /** What was asked for and did not reach the backend. */
  readonly ignored: readonly Path[];
  /** The backend was told the limit of the output. */
  readonly limitsOutput: boolean;
  /** For the caller: the backend's request id and rate limits. */
  readonly headers: Readonly<Record<string, string>>;
  readonly failure: Failure | null;
  /** Why the login could not be renewed of late, where that is not the login's own fault. */
  readonly signIn: Failure | null;
  readonly incomplete: IncompleteReason | null;
  /** Of the last answer, where it did not come to its end. */
  readonly usage: Usage | null;
  /** By item id. */
  readonly refusals: ReadonlyMap<string, string>;
}

/** What a client wants to see as it happens, and the app-server tells only when it is over. */
export type WireEvent =
  /** A turn may hold several answers of the model. */
  | { readonly kind: 'answer-started' }
  | {
      readonly kind: 'call-started';
      readonly outputIndex: number;
      readonly itemId: string;
      readonly callId: string;
      readonly name: string;
    }
  | { readonly kind: 'call-delta'; readonly itemId: string; readonly delta: string }
  /** No more arguments will come. */
  | { readonly kind: 'call-written'; readonly itemId: string }
  | AnswerEnded;

export type AnswerEnded =
  /** `unstreamed`: what stands only in the answer's last event, in its order there. */
  | { readonly kind: 'answer-ended'; readonly how: 'completed'; readonly unstreamed: readonly WholeItem[] }
  /** Why is in the report; nothing there: it broke off. */
  | { readonly kind: 'answer-ended'; readonly how: 'failed' | 'incomplete' | 'cut' };

/** The items that a client may get without the app-server having told them. */
export type WholeItem = Extract<ResponseItem, { type: 'message' | 'reasoning' | 'function_call' }>;
