import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { JsonLimitError, NO_LIMITS, readJsonSteps, type JsonLimits, type StepSize } from './json-reader.ts';
import { atOnce } from '../async/event-loop.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** So small that nearly everything is too heavy for one step. */
const TINY: StepSize = { values: 2, bytes: 8, pieceBytes: 8 };

const read = (text: string, step: StepSize = TINY, limits: JsonLimits = NO_LIMITS): unknown =>
  atOnce(readJsonSteps(bytesOf(text), limits, step));

/** The value, or a marker for an error. */
const outcome = (make: () => unknown): unknown => {
  try {
    return { value: make() };
  } catch (error) {
    if (error instanceof SyntaxError) return 'no JSON';
    throw error;
  }
};

const odd = fc.constantFrom(
  '',
  ' ',
  '"',
  '\\',
  '\\"',
  '😀',
  '\uD83D',
  '__proto__',
  'é'.repeat(20),
  'x'.repeat(70),
);
/** V8 13.6 takes the name `"` for `\\`, where it has seen that one in such an object before. */
const name = fc.oneof(odd, fc.string(), fc.nat().map(String)).filter((one) => !one.includes('\\'));
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(0, -1.5, true, null),
    odd,
    fc.string(),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(name, tie('value'), { maxKeys: 12 }),
  ),
})).value;

const steps = fc.constantFrom<StepSize>(
  TINY,
  { values: 1, bytes: 1, pieceBytes: 1 },
  { values: 5, bytes: 1_000, pieceBytes: 250 },
  { values: 1_000, bytes: 3, pieceBytes: 3 },
  { values: 1_000, bytes: 80, pieceBytes: 10 },
);

describe('readJsonSteps', () => {
  it('returns the same as JSON.parse for any step size', () => {
    fc.assert(
      fc.property(
        anyValue.map((value) => JSON.stringify(value)),
        fc.boolean(),
        steps,
        (text, wide, step) => {
          const written = wide ? JSON.stringify(JSON.parse(text), null, 2) : text;
          expect(read(written, step)).toEqual(JSON.parse(written));
        },
      ),
      { numRuns: 400 },
    );
  });

  it('accepts the same texts as JSON.parse', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b":',
      '1',
      'null',
      ' ',
      '\u00a0',
      '\uFEFF',
      '"x\\"y"',
      '\\',
      '"',
      '[1,2,3]',
      '{"a":1,"b":2,"c":3}',
      '"a long string that is cut"',
    );
    const changed = fc
      .tuple(
        anyValue.map((value) => JSON.stringify(value)),
        fc.nat(),
        fc.nat({ max: 3 }),
        piece,
      )
      .map(([text, at, out, put]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + put + text.slice(place + out);
      });
    const heap = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(fc.oneof(changed, heap), steps, (given, step) => {
        // Invalid UTF-8 and byte order marks have their own tests.
        const text = given.toWellFormed().replace(/^\uFEFF+/, '');
        expect(outcome(() => read(text, step))).toEqual(outcome(() => JSON.parse(text) as unknown));
      }),
      { numRuns: 1_500 },
    );
  });

  it.each([
    ['a member given twice, the heavy one first', '{"a":[1,2,3,4,5,6],"a":5}'],
    ['a member given twice, the heavy one last', '{"a":5,"a":[1,2,3,4,5,6]}'],
    ['numbers as names', '{"2":[1,2,3,4,5,6],"1":0,"x":"a long string that is cut","0":[1,2,3,4,5,6]}'],
    ['the name of the prototype', '{"__proto__":[1,2,3,4,5,6],"b":{"__proto__":1,"c":2,"d":3,"e":4}}'],
    ['escapes at every place of a cut', `["${'\\u00e9\\n\\"'.repeat(30)}${'\\ud83d\\ude00'.repeat(30)}😀"]`],
  ])('reads %s', (_, text) => {
    for (let bytes = 1; bytes < 20; bytes += 1) {
      expect(read(text, { values: 2, bytes, pieceBytes: bytes })).toEqual(JSON.parse(text));
    }
  });

  it('skips a byte order mark at the start only', () => {
    expect(read('\uFEFF[1,2,3,4,5,6]')).toEqual([1, 2, 3, 4, 5, 6]);
    expect(() => read('[1,2,\uFEFF3,4,5,6]')).toThrow(SyntaxError);
  });

  it('rejects invalid UTF-8 anywhere', () => {
    for (const text of ['["a long string that is cut X"]', '[1,2,3,4,"X"]', '{"X":[1,2,3,4,5]}']) {
      const bytes = bytesOf(text);
      bytes[text.indexOf('X')] = 0xff;
      expect(() => atOnce(readJsonSteps(bytes, NO_LIMITS, TINY))).toThrow(SyntaxError);
    }
  });

  it('enforces its limits', () => {
    const limits = { depth: 3, members: 3, values: 12 };
    const limitOf = (text: string): unknown => {
      try {
        return read(text, TINY, limits);
      } catch (error) {
        return error instanceof JsonLimitError ? error.limit : error;
      }
    };
    expect(limitOf('[[[]]]')).toEqual([[[]]]);
    expect(limitOf('[[[[]]]]')).toBe('depth');
    expect(limitOf('[{"a":1,"b":2,"c":"[[[["}]')).toEqual([{ a: 1, b: 2, c: '[[[[' }]);
    expect(limitOf('[{"a":1,"b":2,"c":3,"d":4}]')).toBe('members');
    expect(limitOf('[1,2,3,4,5,6,7,8,9,10,11]')).toHaveLength(11);
    expect(limitOf('[1,2,3,4,5,6,7,8,9,10,11,12]')).toBe('values');
  });

  it('limits the work of each step', () => {
    const step = { values: 100, bytes: 10_000, pieceBytes: 10_000 };
    const heavy = [
      `[${'[],'.repeat(10_000)}1]`,
      `{${Array.from({ length: 10_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
      `["${'\\"'.repeat(50_000)}"]`,
      `["${'\\\\'.repeat(50_000)}"]`,
      `["${'x'.repeat(100_000)}"]`,
      `[[[[["${'x'.repeat(100_000)}"]]]]]`,
    ];
    for (const text of heavy) {
      let count = 0;
      const reading = readJsonSteps(bytesOf(text), NO_LIMITS, step);
      let last = reading.next();
      for (; last.done !== true; last = reading.next()) count += 1;
      expect(last.value).toEqual(JSON.parse(text));
      expect(count).toBeGreaterThanOrEqual(9);
    }
  });
});
