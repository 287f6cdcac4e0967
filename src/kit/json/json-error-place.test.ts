import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { jsonErrorPlace } from './json-error-place.ts';

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
