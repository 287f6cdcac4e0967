import { expect, it } from 'vitest';

import { mergeRows } from './merge-rows.ts';

it('puts each row after the one that it names, or after the one before it in its own table', () => {
  const merged = mergeRows({ a: {}, b: {}, c: {} }, [
    { x: { after: 'a' }, y: {} },
    { last: {} },
    { z: { after: 'y' } },
  ]);
  expect(Object.keys(merged)).toEqual(['a', 'x', 'y', 'z', 'b', 'c', 'last']);
});

it('takes tables in any order', () => {
  const merged = mergeRows({ a: {}, b: {} }, [{ z: { after: 'y' } }, { y: { after: 'a' } }]);
  expect(Object.keys(merged)).toEqual(['a', 'y', 'z', 'b']);
});

it.each([
  ['There are two rows a.', [{ a: {} }]],
  ['x is to follow q, which is not in the table.', [{ x: { after: 'q' } }]],
])('throws: %s', (message, others) => {
  expect(() => mergeRows({ a: {} }, others)).toThrow(message);
});
