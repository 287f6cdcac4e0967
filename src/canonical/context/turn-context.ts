import type { TurnRequest } from '../request/turn-request.ts';
import type { ModelBudget } from './model-budget.ts';
import type { Trace } from './trace.ts';

/** What a turn needs besides its request: who sent it, what it may cost, and where its progress is recorded. Never stored. */
export interface TurnContext {
  readonly caller: Caller;
  /**
   * The same for all requests of one conversation of one caller, and for no others: so its prompt
   * cache stays warm. A hash; it says nothing about what is in the conversation.
   */
  readonly conversation: string;
  /** How many model requests the answer may cost. All requests that are made for the answer share this object. */
  readonly budget: ModelBudget;
  /** Records what is sent and received for the request; `NO_TRACE` where nothing is recorded. */
  readonly trace: Trace;
  /** The distributed trace that the client's request belongs to; absent: it named none. */
  readonly traceContext?: TraceContext;
  /** Called when the model starts to answer, and again if it starts anew: from then on it can be steered. */
  readonly onSteerable?: (steer: Steer) => void;
}

/** A request and its context. */
export interface Turn {
  readonly request: TurnRequest;
  readonly context: TurnContext;
}

/** The client, as far as it can be told apart from others. */
export interface Caller {
  /** Names the key of the request without revealing it. What was learned for one caller does not hold for another. */
  readonly keyId: string;
}

/** W3C Trace Context, as the caller sent it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/**
 * Sends text to the model while it answers: it stops, reads the text and goes on. Rejects with a `GatewayError`,
 * also when the turn has ended.
 */
export type Steer = (texts: readonly string[]) => Promise<void>;

/** What a backend's refusal may depend on. What was learned from one refusal holds only for the same values. */
export const circumstancesOf = ({ request: { model, reasoning }, context: { caller } }: Turn): string =>
  JSON.stringify([caller.keyId, model, reasoning.effort]);
