import { GatewayError, gatewayError } from '../canonical/failure/failure.ts';
import { isCompactionTrigger } from '../canonical/request/compaction.ts';
import { hasNoContent, isSummary, type Item, type Part, type Produced } from '../canonical/request/item.ts';
import { assertNever } from '../kit/assert-never.ts';
import type { Sliced } from '../kit/async/event-loop.ts';
import { readJsonSteps } from '../kit/json/json-reader.ts';
import { isJsonObject } from '../kit/json/json.ts';
import { isRandomId } from '../kit/random-id.ts';
import type { TurnRow } from '../store/store.ts';
import { inputItemId } from './input-item-id.ts';

/** What one request added to a conversation, in the order in which the model read and wrote it. */
export interface StoredTurn {
  readonly input: readonly Item[];
  readonly output: readonly Produced[];
  /** The ids of items that were deleted from their conversation. */
  readonly hidden?: readonly string[];
}

/** The form of the bodies. A program reads the forms of all earlier programs. */
const FORM = 1;

export const turnBody = (turn: StoredTurn): object => ({ form: FORM, ...turn });

/** Reads a turn in slices. Throws if the row is not what this program wrote. */
export function* readTurn({ key, body }: Pick<TurnRow, 'key' | 'body'>): Sliced<StoredTurn> {
  const { form, input, output, hidden } = yield* parseBody(body, `turn ${key}`);
  if (form !== FORM || !isItems(input) || !isProduced(output)) throw corrupt(`turn ${key}`);
  return { input, output, ...(Array.isArray(hidden) ? { hidden: hidden as readonly string[] } : {}) };
}

/** Beyond this the event loop would notice. */
const LONG_CHARS = 64 * 1024;

/** In slices: a body may have megabytes. Throws if it is not a JSON object. */
export function* parseBody(body: string, row: string): Sliced<Readonly<Record<string, unknown>>> {
  try {
    const parsed: unknown =
      body.length > LONG_CHARS ? yield* readJsonSteps(new TextEncoder().encode(body)) : JSON.parse(body);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // Reported below, without the content.
  }
  throw corrupt(row);
}

/** Whether something stored cannot be read: it is damaged, or its key is missing in PROXY_STORE_KEY. */
export const isCorrupt = (error: unknown): boolean =>
  error instanceof GatewayError && error.failure.kind === 'store_corrupt';

export const corrupt = (row: string) =>
  gatewayError('store_corrupt', { message: `The stored ${row} cannot be read.` });

const isItems = (value: unknown): value is readonly Item[] =>
  Array.isArray(value) && value.every((item) => isJsonObject(item) && typeof item['kind'] === 'string');

export const isProduced = (value: unknown): value is readonly Produced[] =>
  isItems(value) && value.every(({ id }) => typeof id === 'string');

/** An item of a stored turn, with the id by which clients know it. */
export interface StoredItem {
  readonly id: string;
  readonly item: Item;
}

/**
 * All items with their ids. Ids of input items belong to their clients and may repeat, and so do those of backends that
 * number them: such items get ids of ours.
 */
export const storedItems = (key: string, { input, output }: StoredTurn): readonly StoredItem[] => [
  ...input.map((item, index) => ({ id: inputItemId(key, index, item), item })),
  ...output.map((item, index) => ({
    id: isRandomId(item.id) ? item.id : inputItemId(key, input.length + index, item),
    item,
  })),
];

/** The items that were not deleted. */
export const visibleItems = (key: string, turn: StoredTurn): readonly StoredItem[] => {
  const hidden = new Set(turn.hidden);
  return storedItems(key, turn).filter(({ id }) => !hidden.has(id));
};

/** The items as the next turn sends them to the model. */
export const sentItems = (key: string, turn: StoredTurn): readonly Item[] =>
  visibleItems(key, turn).flatMap(({ item }) => sentBack(item));

/**
 * An item as a client would send it back: without what answers show and requests do not have. A model request is then the
 * same, whether its conversation was stored or sent, and the backend's prompt cache applies to both.
 */
const sentBack = (item: Item): readonly Item[] => {
  // The compaction that was asked for is in the conversation.
  if (isHalfWritten(item) || isCompactionTrigger(item)) return [];
  switch (item.kind) {
    case 'message': {
      if (item.role !== 'assistant') return [item];
      const { status: _, ...rest } = item;
      // A model has no use for its empty messages.
      return hasNoContent(item.parts) ? [] : [{ ...rest, parts: item.parts.map(withoutLogprobs) }];
    }
    case 'reasoning':
    case 'tool-call': {
      const { status: _, ...rest } = item;
      return [rest];
    }
    case 'hosted-call': {
      const { status: _, modelCallId: __, ...rest } = item;
      return [rest];
    }
    case 'compaction': {
      if (!isSummary(item)) return [item];
      const { id: _, ...rest } = item;
      return [rest];
    }
    case 'tool-output':
    case 'loaded-tools':
    case 'opaque':
      return [item];
    default:
      return assertNever(item);
  }
};

const withoutLogprobs = (part: Part): Part => {
  if (part.kind !== 'text' || part.logprobs === undefined) return part;
  const { logprobs: _, ...rest } = part;
  return rest;
};

/** A message that was cut off can be continued; a call or a thought that was cut off is of no use to a model. */
const isHalfWritten = (item: Item): boolean =>
  item.kind !== 'message' && 'status' in item && item.status === 'incomplete';
