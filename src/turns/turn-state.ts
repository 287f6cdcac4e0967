import { gatewayError } from '../canonical/failure/failure.ts';
import type { Produced } from '../canonical/request/item.ts';
import type { Reply } from '../canonical/events/accumulate.ts';
import type { OneOrMore } from '../kit/collections/lists.ts';
import { NOTHING_LOADED, type Keeps, type LoadedItems, type WithReferences } from './api.ts';

/** The port for what a request needs from earlier ones, and what it leaves for later ones. */
export interface TurnStates {
  /**
   * Loads what a request refers to, and waits for its turn if others write to the same conversation. Throws a
   * `GatewayError` if something is unknown. The caller releases the state.
   */
  open(ask: StateAsk): Promise<TurnState>;
}

/** Limits what is loaded for a request. */
export interface LoadLimits {
  readonly signal: AbortSignal;
  /** Called with the size of what is loaded, before that is parsed. Throws if it is too much. */
  readonly onBytes: (bytes: number) => void;
}

export interface StateAsk extends LoadLimits {
  /** The id of the client's key: what belongs to another one is unknown. */
  readonly caller: string;
  readonly references: WithReferences;
  /** Responses that only this connection knows; null: the request did not come over one that remembers. */
  readonly local: LocalResponses | null;
  /** The answer is not recorded, so its conversation is not locked. */
  readonly isOnlyRead?: boolean;
}

export interface TurnState {
  readonly loaded: LoadedItems;
  /** The key of the continued conversation for the prompt cache; null: the request begins a conversation. */
  readonly cacheKey: string | null;
  /** Whether `record` stores something of an answer. */
  isKept(keeps: Keeps | undefined): boolean;
  /**
   * Keeps the answer. The client sees its end afterwards. False: it should be kept, and could not. Rejects if the answer
   * is of no use then, because its conversation would go on without it.
   */
  record(answer: FinishedAnswer): Promise<boolean>;
  /** Lets others write to the conversation. Idempotent. */
  release(): void;
}

export interface FinishedAnswer {
  readonly keeps: Keeps;
  /** The key of the conversation for the prompt cache. */
  readonly cacheKey: string;
  readonly turns: OneOrMore<FinishedTurn>;
  /** The body of the JSON answer. */
  readonly project: () => unknown;
  /** Aborted if the run is cancelled. */
  readonly signal: AbortSignal;
}

export interface FinishedTurn {
  /** The items as the model wrote them, in its order. */
  readonly made: readonly Produced[];
  /** As the client sees it. */
  readonly reply: Reply;
}

/** The conversation up to a response that is not in the store. */
export interface LocalResponses {
  find(responseId: string): LocalResponse | null;
  add(responseId: string, response: LocalResponse): void;
}

export interface LocalResponse {
  readonly items: LoadedItems['chain'];
  /** Approximate. */
  readonly bytes: number;
  readonly cacheKey: string;
}

/** Of a server that keeps nothing between requests: each one begins a conversation. */
export const NO_STATES: TurnStates = {
  async open({ references: { continues = null } }) {
    if (continues !== null) {
      throw gatewayError('unsupported_parameter', {
        message: 'This server keeps nothing between requests: send the whole conversation.',
      });
    }
    return {
      loaded: NOTHING_LOADED,
      cacheKey: null,
      isKept: () => false,
      record: () => Promise.resolve(true),
      release() {},
    };
  },
};
