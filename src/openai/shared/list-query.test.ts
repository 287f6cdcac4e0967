import { describe, expect, it } from 'vitest';

import { refused } from '../../../test/support/refused.ts';
import { readListQuery } from './list-query.ts';

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
