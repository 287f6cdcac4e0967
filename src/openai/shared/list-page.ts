import { gatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';
import type { ListQuery } from './list-query.ts';

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
