import { z } from 'zod';

import { idText } from '../../apis/bounds.ts';
import { parseBody } from '../../apis/validation.ts';

export type Order = 'asc' | 'desc';

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
