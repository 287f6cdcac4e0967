import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';
import { idText } from '../../apis/bounds.ts';
import { parseBody } from '../../apis/validation.ts';

type Order = 'asc' | 'desc';

/** Which part of a list a client asks for. */
export interface ListQuery {
  readonly limit: number;
  readonly order: Order;
  /** The id of the entry before the page; null: the page is the first one. */
  readonly after: string | null;
  /** The id of the entry after the page, which older SDKs send; null: the list may end with the page. */
  readonly before: string | null;
}

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

const schema = z.object({
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  order: z.enum(['asc', 'desc']).optional(),
  after: idText.nullish(),
  before: idText.nullish(),
});

/** Throws if a value is invalid. An empty value counts as absent. */
export const readListQuery = (query: URLSearchParams, defaultOrder: Order): ListQuery => {
  const {
    limit,
    order = defaultOrder,
    after = null,
    before = null,
  } = parseBody(schema, {
    limit: numberOf(query.get('limit')),
    order: textOf(query.get('order')),
    after: textOf(query.get('after')),
    before: textOf(query.get('before')),
  });
  return { limit, order, after, before };
};

const textOf = (value: string | null): string | undefined =>
  value === null || value === '' ? undefined : value;

/** A value that is not a number stays a text, which the schema rejects. */
const numberOf = (value: string | null): number | string | undefined => {
  const text = textOf(value);
  return text === undefined || !/^[+-]?\d{1,15}$/.test(text) ? text : Number(text);
};

/** A part of a list, in the order that the client asked for. */
export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Whether the list goes on in the direction of the paging. */
  readonly hasMore: boolean;
}

/**
 * The page that a client asks for. `entries` is the whole list, the oldest first. Throws if a cursor is not in the list:
 * the first page again would make a client read forever.
 */
export const pageOf = <Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  { limit, order, after, before }: ListQuery,
): Page<Entry> => {
  const ordered = order === 'asc' ? entries : entries.toReversed();
  const start = after === null ? 0 : placeOf(ordered, after, 'after') + 1;
  const end = before === null ? ordered.length : placeOf(ordered, before, 'before');
  const range = ordered.slice(start, Math.max(start, end));
  // Paging backwards: the entries next to the cursor.
  const page = after === null && before !== null ? range.slice(-limit) : range.slice(0, limit);
  return { entries: page, hasMore: page.length < range.length };
};

const placeOf = (entries: readonly { readonly id: string }[], id: string, param: string): number => {
  const place = entries.findIndex((entry) => entry.id === id);
  if (place !== -1) return place;
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': the list has no item with id '${quoted(id)}'.`,
  });
};

/** OpenAI's list object. */
export const listBody = <Data extends { readonly id: string }>(data: readonly Data[], hasMore: boolean) => ({
  object: 'list' as const,
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});

/** Throws if the value is invalid. An absent or empty one is false. */
export const readQueryFlag = (query: URLSearchParams, name: string): boolean => {
  const value = query.get(name) ?? '';
  const lower = value.toLowerCase();
  if (lower === 'true') return true;
  if (lower === 'false' || lower === '') return false;
  throw gatewayError('invalid_type', {
    param: name,
    message: `Invalid type for '${name}': expected a boolean, but got '${quoted(value)}' instead.`,
  });
};

/** The names of the parameters in a query that its route does not read. */
export const unreadQuery = (query: URLSearchParams, read: readonly string[]): readonly string[] => [
  ...new Set([...query.keys()].filter((name) => !read.includes(name.replace(/\[.*$/s, '')))),
];
