import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { jsonErrorPlace, repeatedKeyPlace } from './json-place.ts';

const errorOf = (text: string): string | null => {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('jsonErrorPlace', () => {
  it.each([
    ['', 1, 1],
    ['{"a": 1,\n "b": x}', 2, 7],
    ['{"a": 1,\r\n}', 2, 1],
    ['[1,\n2,\n]', 3, 1],
    ['{"a": tru}', 1, 10],
    ['// text\n{}', 1, 1],
    ['{"a": 1', 1, 8],
    ['{"a": "x\ny"}', 1, 9],
    ['{} {}', 1, 4],
  ])('finds the error of %j', (text, line, column) => {
    expect(jsonErrorPlace(text)).toEqual({ line, column });
  });

  it('agrees with JSON.parse if that reports a position', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', ',', ':', '}', ']', '"', 'x', '\n', '-', '\\'),
        (json, at, put) => {
          const cut = at % (json.length + 1);
          const text = json.slice(0, cut) + put + json.slice(cut + 1);
          const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(errorOf(text) ?? '') ?? [];
          fc.pre(line !== undefined);
          expect(jsonErrorPlace(text)).toEqual({ line: Number(line), column: Number(column) });
        },
      ),
    );
  });
});

describe('repeatedKeyPlace', () => {
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
});
