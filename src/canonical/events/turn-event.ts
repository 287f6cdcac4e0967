import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Path } from '../request/path.ts';
import type { Produced, Slot } from '../request/item.ts';
import type { Failure } from '../failure/failure.ts';
import type { Usage } from './usage.ts';

/** How a turn ended. */
export type Outcome =
  /** `stop`: the stop sequence of the client that ended the answer; absent: the model did. */
  | { readonly kind: 'completed'; readonly stop?: string }
  /** The model called tools of the client, which ends the answer. */
  | { readonly kind: 'tool-calls' }
  | { readonly kind: 'incomplete'; readonly reason: IncompleteReason }
  | { readonly kind: 'failed'; readonly failure: Failure };

/**
 * `max_model_requests`: the answer used up its model requests. `max_tool_calls`: the model called too many tools.
 * `max_run_seconds`: an agent worked for too long. `steered`: another answer continues it with more input of the client.
 */
export type IncompleteReason =
  | 'max_output_tokens'
  | 'content_filter'
  | 'max_model_requests'
  | 'max_tool_calls'
  | 'max_run_seconds'
  | 'steered';

/**
 * An event of a turn. The engine reports everything to the APIs as these events, and all item kinds share them.
 *
 * Every producer and every transform keeps this grammar (tests check it with `checkGrammar` in test/support):
 * - `turn-accepted` comes first, if the backend accepted the turn;
 * - all events of an item come between its `item-started` and its `item-ended`; every started item is ended,
 *   as `incomplete` if the turn fails;
 * - fields of the started item do not change in the ended item;
 * - the concatenated deltas equal the texts of the ended item;
 * - `turn-ended` comes exactly once, as the last event.
 * Items may overlap.
 */
export type TurnEvent = TurnAccepted | ItemStarted | ItemDelta | ItemStatusChanged | ItemEnded | TurnEnded;

/** The backend has started to answer. */
export interface TurnAccepted {
  readonly type: 'turn-accepted';
  /** Parts of the request that have no effect. */
  readonly ignored: readonly Path[];
  /** The backend enforces the output token limit itself. */
  readonly limitsOutput: boolean;
  /** Response headers of the backend to pass on to the caller. */
  readonly headers: Readonly<Record<string, string>>;
  /** The model that answers, if it is not the requested one. */
  readonly servedModel?: string;
}

export interface ItemStarted {
  readonly type: 'item-started';
  /** The item as known at its start; its texts and lists are still empty. */
  readonly item: Produced;
}

export interface ItemDelta {
  readonly type: 'item-delta';
  readonly itemId: string;
  readonly at: Slot;
  /** May be empty, to open a list element or to carry `logprobs` or an `annotation`. */
  readonly delta: string;
  /** Log probabilities of this delta's tokens. */
  readonly logprobs?: readonly Json[];
  /** A citation in the text so far. */
  readonly annotation?: Json;
}

/** Progress of a hosted tool, such as `searching` or `partial_image`. It is passed through as the backend sent it. */
export interface ItemStatusChanged {
  readonly type: 'item-status';
  readonly itemId: string;
  readonly status: string;
  /** The part of the item that the status is about, such as `shell_call_command`; absent: the whole item. */
  readonly of?: string;
  /** Other fields of the backend's event, such as an image preview. */
  readonly more?: JsonObject;
}

export interface ItemEnded {
  readonly type: 'item-ended';
  readonly item: Produced;
}

/** How a turn ended, and what it used. */
export interface TurnResult {
  readonly outcome: Outcome;
  /** Null if the upstream reported no usage. */
  readonly usage: Usage | null;
  /** The answer should have been stored, and could not be. */
  readonly isUnstored?: true;
}

export interface TurnEnded extends TurnResult {
  readonly type: 'turn-ended';
  /** This server ended the answer (limit or stop sequence), so the upstream never reports its usage. */
  readonly isEndedHere?: true;
  /** Milliseconds since the Unix epoch. Part of the event so that a replay renders the same output. */
  readonly at: number;
}

/** Ends an answer by the rules of a dialect; `cancelTurn` cancels its turn, even while that is silent. */
export type StopEarly = (
  events: AsyncIterable<TurnEvent>,
  cancelTurn: () => void,
) => AsyncIterable<TurnEvent>;

/** Whether the event starts a call of the model that the app-server runs. */
export const isModelCall = (event: TurnEvent): boolean =>
  event.type === 'item-started' && event.item.kind === 'hosted-call' && event.item.modelCallId !== undefined;

/** The id of the event's item; null for events of the turn itself. */
export const itemIdOf = (event: TurnEvent): string | null => {
  if (event.type === 'item-started' || event.type === 'item-ended') return event.item.id;
  return event.type === 'item-delta' || event.type === 'item-status' ? event.itemId : null;
};

/** Whether a delta has no content at all. */
export const isEmptyDelta = (event: ItemDelta): boolean => event.delta === '' && isPlain(event);

/** Joins two plain deltas of the same text into one; null if the events cannot be joined. */
export const joinedDelta = (first: TurnEvent, second: TurnEvent): TurnEvent | null => {
  if (first.type !== 'item-delta' || second.type !== 'item-delta') return null;
  const isSame = first.itemId === second.itemId && isSameSlot(first.at, second.at);
  return isSame && isPlain(first) && isPlain(second) ? { ...first, delta: first.delta + second.delta } : null;
};

/** Whether a delta has only text. Citations and log probabilities belong to their position, so those are not joined. */
export const isPlain = ({ logprobs, annotation }: ItemDelta): boolean =>
  logprobs === undefined && annotation === undefined;

const isSameSlot = (a: Slot, b: Slot): boolean =>
  typeof a === 'string' || typeof b === 'string' ? a === b : a.list === b.list && a.index === b.index;
