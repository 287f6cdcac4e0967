import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { charsIn, isDeeperThan, present, wellFormedJson } from './json.ts';

describe('isDeeperThan', () => {
  it('counts the levels of lists and objects', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
    expect([deep, [[1]], [1, { a: {} }], 'x', []].map((one) => isDeeperThan(one, 2))).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
  });
});

describe('wellFormedJson', () => {
  it('replaces only lone surrogates', () => {
    const text = 'a\uD83D b\uDE00 😀 \\ud83d \\\\ud83d \\\uD83D';
    expect(JSON.parse(wellFormedJson({ text }))).toEqual({ text: text.toWellFormed() });
  });

  it('takes linear time with many backslashes after a surrogate', () => {
    // In quadratic time, this would exceed the test's timeout.
    const text = `\uD83D${'\\'.repeat(1_000_000)}\uD83D${'\\ud83d'.repeat(100_000)}`;
    expect(JSON.parse(wellFormedJson(text))).toBe(text.toWellFormed());
  });

  it('is equal to toWellFormed for any text', () => {
    const half = fc.constantFrom('\uD83D', '\uDE00', '\\', 'ud83d', '"', '\\ude00');
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), half)), (parts) => {
        const text = parts.join('');
        expect(JSON.parse(wellFormedJson(text))).toBe(text.toWellFormed());
      }),
    );
  });
});

describe('charsIn', () => {
  it('counts only strings, at any depth', () => {
    expect(charsIn('abc')).toBe(3);
    expect(charsIn({ key: ['a', { b: 'cd', n: 12345, none: null, gone: undefined }] })).toBe(3);
  });

  it('handles deep values', () => {
    let deep: unknown = 'x';
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(charsIn(deep)).toBe(1);
  });
});

describe('present', () => {
  it('removes members without a value, and keeps the order of the others', () => {
    const members = { b: false, n: null, a: 0, u: undefined, t: '', l: [] };
    expect(Object.entries(present(members))).toEqual([
      ['b', false],
      ['a', 0],
      ['t', ''],
      ['l', []],
    ]);
  });
});
