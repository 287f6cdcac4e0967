import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createLineDecoder } from './line-decoder.ts';

const decode = (...chunks: readonly (string | readonly number[])[]): readonly (readonly string[])[] => {
  const decoder = createLineDecoder();
  const bytes = chunks.map((chunk) =>
    typeof chunk === 'string' ? new TextEncoder().encode(chunk) : Uint8Array.from(chunk),
  );
  return [...bytes.map((chunk) => decoder.push(chunk)), decoder.end()];
};

describe('createLineDecoder', () => {
  it.each([
    ['nothing', [''], [[], []]],
    ['one line', ['a\n'], [['a'], []]],
    ['several lines in one chunk', ['a\nb\nc\n'], [['a', 'b', 'c'], []]],
    ['a line over three chunks', ['a', 'b', 'c\nd'], [[], [], ['abc'], ['d']]],
    ['empty lines', ['\n\n'], [['', ''], []]],
    ['CRLF', ['a\r\nb\r\n'], [['a', 'b'], []]],
    ['CRLF cut between its bytes', ['a\r', '\nb'], [[], ['a'], ['b']]],
    ['a carriage return inside a line', ['a\rb\n'], [['a\rb'], []]],
    ['other Unicode line ends are text', ['a\u2028b\u0085\n'], [['a\u2028b\u0085'], []]],
    [
      'a character cut between its bytes',
      [
        [0xf0, 0x9f],
        [0x98, 0x80, 0x0a],
      ],
      [[], ['😀'], []],
    ],
    ['a byte order mark is kept', [[0xef, 0xbb, 0xbf, 0x61, 0x0a]], [['\ufeffa'], []]],
    ['broken bytes become replacement characters', [[0xff, 0x0a, 0x61, 0x0a]], [['\ufffd', 'a'], []]],
    ['a last line without an end', ['a\nb\r'], [['a'], ['b']]],
  ])('%s', (_, chunks, expected) => {
    expect(decode(...chunks)).toEqual(expected);
  });

  it('does not depend on chunk boundaries', () => {
    const line = fc.string({ unit: fc.constantFrom('a', '"', '\\', 'é', '😀', '\t') });
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat({ max: 60 })), (lines, cuts) => {
        const bytes = new TextEncoder().encode(lines.map((text) => `${text}\n`).join(''));
        const edges = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length];
        const decoder = createLineDecoder();
        const got = edges
          .toSorted((a, b) => a - b)
          .flatMap((edge, index, all) => decoder.push(bytes.subarray(all[index - 1] ?? 0, edge)));
        expect([...got, ...decoder.end()]).toEqual(lines);
      }),
    );
  });
});
