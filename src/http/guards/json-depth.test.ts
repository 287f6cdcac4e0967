import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nestsDeeperThan } from './json-depth.ts';

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map((inner) => depthOf(inner)))
    : 0;

describe('nestsDeeperThan', () => {
  it.each([
    ['[[1]]', 2, false],
    ['[[[1]]]', 2, true],
    ['{"a":[{"b":1}]}', 2, true],
    [String.raw`{"a":"[[[[\"[[[["}`, 1, false],
    [String.raw`["\\",[[]]]`, 2, true],
    ['[],[],[]', 1, false],
    ['"[[[[', 0, false],
    ['[[[[', 3, true],
    ['', 0, false],
  ])('%s beyond %i: %s', (text, limit, deeper) => {
    expect(nestsDeeperThan(Buffer.from(text), limit)).toBe(deeper);
  });

  it('agrees with the depth of any JSON value', () => {
    const strings = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', '[', '{"', '\\"]'));
    fc.assert(
      fc.property(
        fc.object({ key: strings, values: [strings, fc.integer(), fc.constant(null)], maxDepth: 5 }),
        (value) => {
          const text = Buffer.from(JSON.stringify(value));
          const depth = depthOf(value);
          expect(nestsDeeperThan(text, depth)).toBe(false);
          expect(nestsDeeperThan(text, depth - 1)).toBe(true);
        },
      ),
    );
  });
});
