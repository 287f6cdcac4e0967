import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { refused } from '../../../test/support/refused.ts';
import { listBody, pageOf, type Page, type ListQuery, readListQuery, readQueryFlag } from './list-page.ts';

const entries = (count: number) => Array.from({ length: count }, (_, index) => ({ id: `i${index}` }));
const FIRST: ListQuery = { limit: 20, order: 'asc', after: null, before: null };

const idsOf = (count: number, query: Partial<ListQuery>) => {
  const page = pageOf(entries(count), { ...FIRST, ...query });
  return [page.entries.map(({ id }) => id).join(' '), page.hasMore];
};

describe('a page', () => {
  it.each<[Partial<ListQuery>, string, boolean]>([
    [{}, 'i0 i1 i2 i3 i4', false],
    [{ limit: 5 }, 'i0 i1 i2 i3 i4', false],
    [{ limit: 4 }, 'i0 i1 i2 i3', true],
    [{ order: 'desc', limit: 2 }, 'i4 i3', true],
    [{ order: 'desc', limit: 2, after: 'i3' }, 'i2 i1', true],
    [{ order: 'desc', limit: 2, after: 'i1' }, 'i0', false],
    [{ limit: 2, after: 'i2' }, 'i3 i4', false],
    [{ after: 'i4' }, '', false],
    [{ limit: 2, before: 'i3' }, 'i1 i2', true],
    [{ limit: 2, before: 'i2' }, 'i0 i1', false],
    [{ order: 'desc', limit: 2, before: 'i1' }, 'i3 i2', true],
    [{ after: 'i0', before: 'i3' }, 'i1 i2', false],
    [{ after: 'i0', before: 'i4', limit: 2 }, 'i1 i2', true],
    [{ after: 'i3', before: 'i1' }, '', false],
  ])('%j', (query, ids, hasMore) => {
    expect(idsOf(5, query)).toEqual([ids, hasMore]);
  });

  it('has a cursor of the list, or is rejected', () => {
    expect(refused(() => idsOf(2, { after: 'x' }))).toMatchObject({
      status: 400,
      param: 'after',
      message: "Invalid 'after': the list has no item with id 'x'.",
    });
    expect(refused(() => idsOf(2, { before: 'x' }))).toMatchObject({ param: 'before' });
  });

  it('is followed by the others, until the whole list was read once', () => {
    const sizes = fc.record({
      count: fc.nat({ max: 40 }),
      limit: fc.integer({ min: 1, max: 12 }),
      order: fc.constantFrom('asc' as const, 'desc' as const),
    });
    fc.assert(
      fc.property(sizes, ({ count, limit, order }) => {
        const read: string[] = [];
        let after: string | null = null;
        let hasMore = true;
        while (hasMore) {
          const page: Page<{ readonly id: string }> = pageOf(entries(count), {
            limit,
            order,
            after,
            before: null,
          });
          read.push(...page.entries.map(({ id }) => id));
          after = page.entries.at(-1)?.id ?? null;
          ({ hasMore } = page);
        }
        const all = entries(count).map(({ id }) => id);
        expect(read).toEqual(order === 'asc' ? all : all.toReversed());
      }),
    );
  });
});

describe('a list object', () => {
  it('names its first and last entry', () => {
    expect(listBody(entries(2), true)).toEqual({
      object: 'list',
      data: entries(2),
      first_id: 'i0',
      last_id: 'i1',
      has_more: true,
    });
    expect(listBody([], false)).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });
});

const read = (query: string) => readListQuery(new URLSearchParams(query), 'desc');

describe('the query of a list', () => {
  it('has defaults, also for empty values', () => {
    const first = { limit: 20, order: 'desc', after: null, before: null };
    expect([read(''), read('limit=&order=&after=&before=&other=1')]).toEqual([first, first]);
    expect(readListQuery(new URLSearchParams(), 'asc')).toEqual({ ...first, order: 'asc' });
  });

  it('has a page size, an order and cursors', () => {
    expect(read('limit=1&order=asc&after=a&before=b')).toEqual({
      limit: 1,
      order: 'asc',
      after: 'a',
      before: 'b',
    });
    expect(read('limit=100').limit).toBe(100);
  });

  it.each([
    ['limit=0', 'integer_below_min_value', 'limit'],
    ['limit=-1', 'integer_below_min_value', 'limit'],
    ['limit=101', 'integer_above_max_value', 'limit'],
    ['limit=ten', 'invalid_type', 'limit'],
    ['limit=1.5', 'invalid_type', 'limit'],
    ['limit=1e1', 'invalid_type', 'limit'],
    ['order=up', 'invalid_value', 'order'],
    [`after=${'a'.repeat(20_000)}`, 'string_above_max_length', 'after'],
  ])('rejects %.12s', (query, code, param) => {
    expect(refused(() => read(query))).toMatchObject({ status: 400, code, param });
  });
});

const readFlag = (query: string): boolean => readQueryFlag(new URLSearchParams(query), 'stream');

describe('a flag in a query', () => {
  it('is true or false, as SDKs of several languages write it', () => {
    const isTrue = (query: string): readonly [string, boolean] => [query, readFlag(query)];
    expect(['stream=true', 'stream=True', 'stream=false', 'stream=False', 'stream=', ''].map(isTrue)).toEqual(
      [
        ['stream=true', true],
        ['stream=True', true],
        ['stream=false', false],
        ['stream=False', false],
        ['stream=', false],
        ['', false],
      ],
    );
  });

  it('is rejected if it is something else', () => {
    expect(refused(() => readFlag('stream=maybe'))).toMatchObject({
      status: 400,
      code: 'invalid_type',
      param: 'stream',
      message: "Invalid type for 'stream': expected a boolean, but got 'maybe' instead.",
    });
  });
});
