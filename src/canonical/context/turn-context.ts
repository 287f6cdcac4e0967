import type { Usage } from '../events/usage.ts';
import type { GatewayError } from '../failure/failure.ts';
import type { TurnRequest } from '../request/turn-request.ts';
import type { ModelBudget } from './model-budget.ts';
import type { Trace, TraceContext } from './trace.ts';

/** What a turn needs besides its request: the caller, its budget, and its trace. Never stored. */
export interface TurnContext {
  readonly caller: TurnCaller;
  /** Identifies a conversation of a caller, for the prompt cache. A hash that reveals nothing about the content. */
  readonly conversation: string;
  /** Limits the model requests of the answer, which all share this object. */
  readonly budget: ModelBudget;
  /** Records what is sent and received; `NO_TRACE` records nothing. */
  readonly trace: Trace;
  /** The client does not wait for the answer: it asks for it later. */
  readonly isBackground?: boolean;
  /** The client wants nothing of the turn to be stored. */
  readonly isUnstored?: boolean;
  /** The distributed trace of the client's request, if it has one. */
  readonly traceContext?: TraceContext;
  /** What the client says while the model answers; absent: it cannot say anything. */
  readonly steering?: TurnSteering;
  /** Asked before an item begins: whether the answer ends here, because its client has more to say. */
  readonly isSteered?: () => boolean;
  /**
   * Reserves a further model request with so many characters of new input, for a run that asks the model again by itself.
   * Rejects if the limits of the key are used up or the key was revoked, or with the signal's reason. Absent: the request has
   * several turns.
   */
  readonly reserve?: (chars: number, signal: AbortSignal) => Promise<ReservedPart>;
}

/** What was reserved for a part of a turn. One of its methods is called, once. */
export interface ReservedPart {
  /** The part begins, and the one before has ended with this usage; null: it is not known. */
  begin(used: Promise<Usage | null>): void;
  giveBack(): void;
}

/** A request and its context. */
export interface Turn {
  readonly request: TurnRequest;
  readonly context: TurnContext;
}

/** The client that sent the request. */
export interface TurnCaller {
  /** Identifies the API key without revealing it. What is learned about one caller does not apply to another. */
  readonly keyId: string;
}

/** Input of a client for an answer that is running. */
export interface TurnSteering {
  /** The answer can be interrupted from now on, until the result is called. */
  listen(listener: SteerListener): () => void;
  hasInput(): boolean;
  /** All input, for the next part of the answer. The part before has used this; null: it is not known. */
  take(used: Promise<Usage | null>): readonly (readonly string[])[];
}

export interface SteerListener {
  /** Why the answer cannot be interrupted now; null: it can. */
  refusal(): GatewayError | null;
  /** There is input. */
  onInput(): void;
}

/** A key for what is learned from a backend's error: it applies only to requests with the same key. */
export const circumstancesOf = ({ request: { model, reasoning }, context: { caller } }: Turn): string =>
  JSON.stringify([caller.keyId, model, reasoning.effort]);
