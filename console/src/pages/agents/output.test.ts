import { describe, expect, it } from 'vitest';

import { HEAD_CHARS, NO_OUTPUT, outputOf, spansOf, TAIL_CHARS, withText, type Output } from './output.ts';

const textOf = ({ head, tail }: Output): string =>
  [...head, ...tail].flatMap((block) => spansOf(block).map(({ text }) => text)).join('');

const piecewise = (text: string, length: number): Output => {
  let output = NO_OUTPUT;
  for (let at = 0; at < text.length; at += length) output = withText(output, text.slice(at, at + length));
  return output;
};

const COLOURED =
  'a\u001B[1;31mred\u001B[0m \u001B[32mgreen\u001B[39m\u001B[2Kend\r\n\u001B]0;title\u0007next\u0008\u001B(B\n';

describe('the output of a command', () => {
  it.each([1, 2, 3, 7, 100])('is the same however it arrives: in pieces of %i characters', (length) => {
    const output = piecewise(COLOURED, length);
    expect(textOf(output)).toBe('ared greenend\nnext\n');
    expect(output.chars).toBe(COLOURED.length);
    const [block] = output.head;
    expect(spansOf(block ?? { text: '', style: '' }).filter(({ text }) => text !== '')).toMatchObject([
      { text: 'a', style: '' },
      { text: 'red', style: 'ansi-31 ansi-bold' },
      { text: ' ', style: '' },
      { text: 'green', style: 'ansi-32' },
      { text: 'end\nnext\n', style: '' },
    ]);
  });

  it('shows the last state of a line that is written over', () => {
    expect(textOf(piecewise('start\n 10%\r 50%\r100%\nend', 4))).toBe('start\n100%\nend');
    // Thousands of states of one line need no room.
    const progress = Array.from({ length: 50_000 }, (_, at) => `\r\u001B[33m${at}`).join('');
    const output = piecewise(progress, 1000);
    expect(output.droppedChars).toBe(0);
    expect(textOf(output)).toBe('49999');
  });

  it('keeps the beginning and the end of a long one', () => {
    const lines = Array.from({ length: 100_000 }, (_, at) => `\u001B[36mline\u001B[0m ${at}\n`);
    const output = piecewise(lines.join(''), 5003);
    const { head, tail } = output;
    const size = (blocks: Output['head']): number => blocks.reduce((sum, { text }) => sum + text.length, 0);
    expect(size(head)).toBeLessThan(HEAD_CHARS * 1.5);
    expect(size(tail)).toBeLessThanOrEqual(TAIL_CHARS);
    expect(head[0]?.text).toContain('\u001B[36mline\u001B[0m 0\n');
    expect(tail.at(-1)?.text).toMatch(/99999\n$/);
    expect(size(head) + size(tail) + output.droppedChars).toBe(output.chars);
    expect(new Set([...head, ...tail].map(({ id }) => id)).size).toBe(head.length + tail.length);
  });

  it('keeps colours from one block to the next', () => {
    const output = outputOf(`\u001B[35m${'x'.repeat(30_000)}`);
    expect(output.head.length).toBeGreaterThan(2);
    expect(output.head.slice(1).map(({ style }) => style)).toEqual(output.head.slice(1).map(() => 'ansi-35'));
  });

  it('has no control characters, whatever was sent', () => {
    const all = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('');
    const shown = textOf(outputOf(`${all}\u001B[9999;9999H\u001BPq#0\u001B\\end\n`));
    const codes = shown
      .split('')
      .map((one) => one.codePointAt(0) ?? 0)
      .filter((code) => code < 32 || code === 127);
    expect(new Set(codes)).toEqual(new Set([9, 10]));
    expect(shown).toMatch(/end\n$/);
  });

  it('knows 16 of the 256 colours, and no others', () => {
    const [first, second, third] = spansOf({
      text: '\u001B[38;5;9ma\u001B[38;5;200mb\u001B[38;2;1;2;3;4mc',
      style: '',
    });
    expect([first, second, third]).toMatchObject([
      { style: 'ansi-91' },
      { style: '' },
      { style: 'ansi-underline' },
    ]);
  });
});
