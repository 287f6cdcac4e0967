import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Outcome } from './outcome.ts';
import type { Path } from '../request/path.ts';
import type { Usage } from './usage.ts';
import type { Produced, Slot } from '../request/item.ts';

/**
 * One thing that happened in a turn: the only currency between the engine and the edge. No event is
 * about one kind of item: the kind is in the item.
 *
 * Grammar, which every producer and every transform keeps (`checkGrammar` in test/support holds it):
 * - `turn-accepted` comes first, if the turn got that far;
 * - an item's events stand between its `item-started` and its `item-ended`; every started item is ended,
 *   also when the turn fails (then as `incomplete`);
 * - what the head of an item says, the ended item says too;
 * - deltas joined are the texts of the ended item;
 * - `turn-ended` comes exactly once and is the last event.
 * Items may overlap.
 */
export type TurnEvent = TurnAccepted | ItemStarted | ItemDelta | ItemStatusChanged | ItemEnded | TurnEnded;

/** The backend has begun to answer: from here on there is an answer, however it ends. */
export interface TurnAccepted {
  readonly type: 'turn-accepted';
  /** What was asked for and had no effect. */
  readonly ignored: readonly Path[];
  /** The backend was told the limit of the output and keeps it itself. */
  readonly limitsOutput: boolean;
  /** What the backend said about the request in headers, for the caller's answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The model that answers, where that is not the requested one. */
  readonly servedModel?: string;
}

export interface ItemStarted {
  readonly type: 'item-started';
  /** Its head: the item with everything that is known at its start, its texts and lists still empty. */
  readonly item: Produced;
}

export interface ItemDelta {
  readonly type: 'item-delta';
  readonly itemId: string;
  readonly at: Slot;
  /** May be empty: it opens a part of a list, or comes with one of the following. */
  readonly delta: string;
  /** Of the tokens of this delta. */
  readonly logprobs?: readonly Json[];
  /** A citation in the text so far. */
  readonly annotation?: Json;
}

/** What a hosted tool is doing: `searching`, `partial_image` … in the backend's words. Nobody between reads more of it. */
export interface ItemStatusChanged {
  readonly type: 'item-status';
  readonly itemId: string;
  readonly status: string;
  /** What it is about, where that is a part of the item and not the whole: `shell_call_command`. */
  readonly of?: string;
  /** What the backend says besides: a preview of an image, a piece of a command. */
  readonly more?: JsonObject;
}

export interface ItemEnded {
  readonly type: 'item-ended';
  readonly item: Produced;
}

export interface TurnEnded {
  readonly type: 'turn-ended';
  readonly outcome: Outcome;
  /** Null when the upstream gave no numbers. */
  readonly usage: Usage | null;
  /** This server ended the answer (a limit, a stop), so the upstream's numbers for it never come. */
  readonly isEndedHere?: true;
  /** When, in milliseconds since the Unix epoch: data, so that a replay renders the same. */
  readonly at: number;
}

/** The id of the item that an event is about; null: it is about the turn. */
export const itemIdOf = (event: TurnEvent): string | null => {
  if (event.type === 'item-started' || event.type === 'item-ended') return event.item.id;
  return event.type === 'item-delta' || event.type === 'item-status' ? event.itemId : null;
};

/** Whether a delta of a text that is one piece adds nothing to it. */
export const isEmptyDelta = (event: ItemDelta): boolean => event.delta === '' && isPlain(event);

/** Two events as one, where both are deltas of the same text and nothing else; null: they stay two. */
export const joinedDelta = (first: TurnEvent, second: TurnEvent): TurnEvent | null => {
  if (first.type !== 'item-delta' || second.type !== 'item-delta') return null;
  const isSame = first.itemId === second.itemId && isSameSlot(first.at, second.at);
  return isSame && isPlain(first) && isPlain(second) ? { ...first, delta: first.delta + second.delta } : null;
};

/** Whether a delta is text only: citations and log probabilities belong to the place where they came. */
export const isPlain = ({ logprobs, annotation }: ItemDelta): boolean =>
  logprobs === undefined && annotation === undefined;

const isSameSlot = (a: Slot, b: Slot): boolean =>
  typeof a === 'string' || typeof b === 'string' ? a === b : a.list === b.list && a.index === b.index;
