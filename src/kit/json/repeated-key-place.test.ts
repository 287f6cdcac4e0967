import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { repeatedKeyPlace } from './repeated-key-place.ts';

it.each([
  ['{"a":1,"a":2}', 8],
  ['{"a":1,"\\u0061":2}', 8],
  ['{"a":{"b":1},"a":2}', 14],
  ['[{"a":[{}],"b":"a","b":1}]', 20],
  ['{"__proto__":1,"__proto__":2}', 16],
  ['{"":1,"":2}', 7],
])('finds the second key in %s', (text, column) => {
  expect(() => JSON.parse(text) as unknown).not.toThrow();
  expect(repeatedKeyPlace(text)).toEqual({ line: 1, column });
});

it('counts lines', () => {
  expect(repeatedKeyPlace('{\n  "a": 1,\n  "a": 2\n}')).toEqual({ line: 3, column: 3 });
});

it('finds none in what JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      expect(repeatedKeyPlace(JSON.stringify(value))).toBeNull();
    }),
  );
});

it('reads a long string', () => {
  const long = JSON.stringify('x"\\\n'.repeat(200_000));
  expect(repeatedKeyPlace(`{"a":${long},"a":1}`)).toEqual({ line: 1, column: long.length + 7 });
});
