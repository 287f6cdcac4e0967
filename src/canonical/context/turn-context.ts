import type { TurnRequest } from '../request/turn-request.ts';
import type { ModelBudget } from './model-budget.ts';
import type { Trace, TraceContext } from './trace.ts';

/** What a turn needs besides its request: the caller, its budget, and its trace. Never stored. */
export interface TurnContext {
  readonly caller: Caller;
  /** Identifies a conversation of a caller, for the prompt cache. A hash that reveals nothing about the content. */
  readonly conversation: string;
  /** Limits the model requests of the answer, which all share this object. */
  readonly budget: ModelBudget;
  /** Records what is sent and received; `NO_TRACE` records nothing. */
  readonly trace: Trace;
  /** The client wants nothing of the turn to be stored. */
  readonly isUnstored?: boolean;
  /** The distributed trace of the client's request, if it has one. */
  readonly traceContext?: TraceContext;
  /** Called each time the model starts to answer. From then on it can be steered. */
  readonly onSteerable?: (steer: Steer) => void;
  /** Asked before an item begins: whether the answer ends here, because its client has more to say. */
  readonly isSteered?: () => boolean;
}

/** A request and its context. */
export interface Turn {
  readonly request: TurnRequest;
  readonly context: TurnContext;
}

/** The client that sent the request. */
export interface Caller {
  /** Identifies the API key without revealing it. What is learned about one caller does not apply to another. */
  readonly keyId: string;
}

/** Interrupts the model with more input. Rejects with a `GatewayError`, for example if the turn has ended. */
export type Steer = (texts: readonly string[]) => Promise<void>;

/** A key for what is learned from a backend's error: it applies only to requests with the same key. */
export const circumstancesOf = ({ request: { model, reasoning }, context: { caller } }: Turn): string =>
  JSON.stringify([caller.keyId, model, reasoning.effort]);
