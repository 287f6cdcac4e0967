import { gatewayError } from '../canonical/failure/failure.ts';
import type { Item } from '../canonical/request/item.ts';
import { isJsonObject } from '../kit/json/json.ts';
import type { TurnRow } from '../store/store.ts';
import { inputItemId } from './input-item-id.ts';

/** What one request added to a conversation, in the order in which the model read and wrote it. */
export interface StoredTurn {
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** The ids of items that were deleted from their conversation. */
  readonly hidden?: readonly string[];
}

/** The form of the bodies. A program reads the forms of all earlier programs. */
const FORM = 1;

export const turnBody = (turn: StoredTurn): object => ({ form: FORM, ...turn });

/** Throws if the row is not what this program wrote. */
export const readTurn = ({ key, body }: Pick<TurnRow, 'key' | 'body'>): StoredTurn => {
  const parsed = parseBody(body, `turn ${key}`);
  const { form, input, output, hidden } = parsed;
  if (form !== FORM || !isItems(input) || !isItems(output)) throw corrupt(`turn ${key}`);
  return { input, output, ...(Array.isArray(hidden) ? { hidden: hidden as readonly string[] } : {}) };
};

/** Throws if the body of a row is not a JSON object. */
export const parseBody = (body: string, row: string): Readonly<Record<string, unknown>> => {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // Reported below, without the content.
  }
  throw corrupt(row);
};

export const corrupt = (row: string) =>
  gatewayError('store_corrupt', { message: `The stored ${row} cannot be read.` });

const isItems = (value: unknown): value is readonly Item[] =>
  Array.isArray(value) && value.every((item) => isJsonObject(item) && typeof item['kind'] === 'string');

/** An item of a stored turn, with the id by which clients know it. */
export interface StoredItem {
  readonly id: string;
  readonly item: Item;
}

/** All items with their ids. Ids of input items belong to their clients and may repeat, so input gets ids of ours. */
export const storedItems = (key: string, { input, output }: StoredTurn): readonly StoredItem[] => [
  ...input.map((item, index) => ({ id: inputItemId(key, index, item), item })),
  ...output.map((item, index) => ({ id: item.id ?? inputItemId(key, input.length + index, item), item })),
];

/** The items as the next turn sends them to the model. */
export const sentItems = (key: string, turn: StoredTurn): readonly Item[] => {
  const hidden = new Set(turn.hidden);
  return storedItems(key, turn).flatMap(({ id, item }) =>
    hidden.has(id) || isHalfWritten(item) ? [] : [item],
  );
};

/** A message that was cut off can be continued; a call or a thought that was cut off is of no use to a model. */
const isHalfWritten = (item: Item): boolean =>
  item.kind !== 'message' && 'status' in item && item.status === 'incomplete';
