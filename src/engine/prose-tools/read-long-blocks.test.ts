import { describe, expect, it } from 'vitest';

import { joined, piecesOf, readAll, textOf } from '../../../test/support/read-pieces.ts';
import { OpenBlock, MAX_BLOCK_CHARS } from './read-blocks.ts';
import { writeCall } from './written-call.ts';

/** How many characters of blocks are looked at during some work. */
const stepsOf = (work: () => void): number => {
  // oxlint-disable-next-line unbound-method
  const { step } = OpenBlock.prototype;
  let steps = 0;
  OpenBlock.prototype.step = function counted(this: OpenBlock, ...at: Parameters<OpenBlock['step']>) {
    steps += 1;
    return step.apply(this, at);
  };
  try {
    work();
  } finally {
    OpenBlock.prototype.step = step;
  }
  return steps;
};

describe('long texts', () => {
  /** Each would take hours if it were gone through again for every delta, or for every tag. */
  it.each([
    ['openings', '<tool_call>', 1024],
    ['openings with JSON', '<tool_call>{"name":"a","arguments":"', 64],
    ['openings in a list', '<tool_call>[{"a":"', 64],
    ['blocks without a call', '<tool_call>[]</tool_call>', 64],
    ['blocks in fences', '```json\n<tool_call>[', 64],
    ['spaces', ' ', 64],
  ])('are read once: %s', (_, bits, kilobytes) => {
    const text = bits.repeat(Math.ceil((kilobytes * 1024) / bits.length));
    const inString = `<tool_call>{"name":"a","arguments":"${text.slice(0, 64 * 1024).replaceAll('"', '\\"')}`;
    for (const deltas of [text, [inString], inString]) {
      const pieces = piecesOf(deltas);
      const half = pieces.at(-1)?.kind === 'half' ? pieces.at(-1) : undefined;
      const shown = Array.from(deltas).join('');
      expect(textOf(joined(pieces))).toBe(
        shown.slice(0, shown.length - (half?.kind === 'half' ? half.chars : 0)),
      );
    }
  });

  it.each([
    ['openings in strings', '<tool_call>{"a":"'],
    ['openings in names', '<tool_call>{"'],
    ['openings in lists, all open at once', '["<tool_call>[]"],'],
    ['openings in two rhythms', '<tool_call>{":":"'],
  ])('take work that grows with their length only: %s', (_, bit) => {
    const text = `<tool_call>[${bit.repeat(2_000)}x</tool_call>`;
    for (const deltas of [[text], text]) {
      expect(stepsOf(() => piecesOf(deltas))).toBeLessThan(10 * text.length);
    }
  });

  it.each([
    ['members', `{"name":"a",${'"b":1,'.repeat(1_000)}"arguments":{}}`],
    ['elements', `[${'{"name":"a"},'.repeat(1_000)}{"name":"a"}]`],
  ])('have no call with more %s than are read at once', (_, json) => {
    const text = `<tool_call>${json}</tool_call>`;
    expect(textOf(joined(piecesOf([text])))).toBe(text);
  });

  it('have no block that is longer than the limit', () => {
    const call = { name: 'a', input: 'x'.repeat(MAX_BLOCK_CHARS - 100) };
    expect(readAll([writeCall(call)])).toEqual([call]);
    const long = writeCall({ name: 'a', input: 'x'.repeat(MAX_BLOCK_CHARS) });
    expect(readAll([long])).toEqual([long]);
  });
});
