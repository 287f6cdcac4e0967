import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { wellFormedJson } from './json.ts';
import { isHeavy, isLongerThan, writeJsonSteps, joinSteps, jsonBytesSteps } from './json-writer.ts';
import { atOnce } from '../async/event-loop.ts';

describe('writeJsonSteps', () => {
  it('writes the same for any step size', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\uD83D', '\uDE00', '😀'.repeat(40), '\\"\n'.repeat(40)),
    );
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.constantFrom(0, -1.5, true, null),
        fc.array(tie('value'), { maxLength: 8 }),
        fc.dictionary(text, fc.oneof(tie('value'), fc.constant(undefined)), { maxKeys: 8 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 200 }), (one, stepChars) => {
        expect(atOnce(writeJsonSteps(one, stepChars)).join('')).toBe(wellFormedJson(one));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
    ['both, with neighbours', '[1,{"a":null,"b":', '},"x"]'],
  ])('writes values nested deeper than the call stack: %s', (_, open, close) => {
    const text = `${open.repeat(10_000)}0${close.repeat(10_000)}`;
    const value: unknown = JSON.parse(text);
    expect(() => JSON.stringify(value)).toThrow(RangeError);
    expect(isHeavy(value, Infinity)).toBe(true);
    expect(atOnce(writeJsonSteps(value)).join('')).toBe(text);
  });

  it('limits the length of each piece', () => {
    const value = {
      text: 'é'.repeat(10_000),
      many: Array.from({ length: 1_000 }, (_, index) => ({ index })),
    };
    let steps = 0;
    const writing = writeJsonSteps(value, 100);
    let last = writing.next();
    for (; last.done !== true; last = writing.next()) steps += 1;
    expect(last.value.join('')).toBe(JSON.stringify(value));
    expect(Math.max(...last.value.map((piece) => piece.length))).toBeLessThan(400);
    expect(steps).toBeGreaterThan(200);
  });
});

describe('isLongerThan', () => {
  it('distinguishes light from heavy values', () => {
    expect(isLongerThan({ a: ['x', 1, null, undefined] }, 100)).toBe(false);
    expect(isLongerThan('x'.repeat(200), 100)).toBe(true);
    expect(isLongerThan({ ['x'.repeat(200)]: 1 }, 100)).toBe(true);
    expect(isLongerThan(Array.from({ length: 200 }), 100)).toBe(true);
    expect(isLongerThan([[[[['x'.repeat(90)]]]]], 100)).toBe(true);
    expect(
      isLongerThan(
        Array.from({ length: 2_000 }, () => ({})),
        100_000,
      ),
    ).toBe(false);
  });
});

describe('jsonBytesSteps', () => {
  it('returns the bytes of the text', () => {
    const value = { text: 'é😀"\n'.repeat(50_000), list: [1, null, { a: true }] };
    expect(new TextDecoder().decode(atOnce(jsonBytesSteps(value)))).toBe(JSON.stringify(value));
  });

  it('concatenates bytes', () => {
    const parts = [[1, 2], [], [3]].map((bytes) => Uint8Array.from(bytes));
    expect([...atOnce(joinSteps(parts))]).toEqual([1, 2, 3]);
    expect([...atOnce(joinSteps([]))]).toEqual([]);
  });
});
