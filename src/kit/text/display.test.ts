import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';

import { quoted, jsonLines, printable, duration } from './display.ts';

describe('quoted', () => {
  it.each([
    ['short', 'short'],
    ['a'.repeat(100), 'a'.repeat(100)],
    ['a'.repeat(101), `${'a'.repeat(100)}…`],
    [`${'a'.repeat(99)}😀`, `${'a'.repeat(99)}\uFFFD…`],
  ])('%s', (text, expected) => {
    expect(quoted(text)).toBe(expected);
  });
});

const shown = (text: string): unknown => JSON.parse(printable(JSON.stringify(text)));

describe('printable', () => {
  it.each([
    ['\u001b[2J', String.raw`\u001b[2J`],
    ['\u0007\r\b\f', String.raw`\u0007\r\b\f`],
    ['\u009b1m\u007f', String.raw`\u009b1m\u007f`],
    ['user \u202e nimda', String.raw`user \u202e nimda`],
    ['two\nlines\tand "quotes" \\ /', 'two\nlines\tand "quotes" \\ /'],
    [String.raw`already \u001b text`, String.raw`already \u001b text`],
    ['é 漢 🙂', 'é 漢 🙂'],
  ])('shows %j', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it('leaves no control character but line breaks and tabs in any string, and stays JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
        expect(shown(text)).not.toMatch(/[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      }),
    );
  });
});

describe('jsonLines', () => {
  it('has no control characters, and is parsed to the same value', () => {
    expect(jsonLines({ note: '\u009b31m\u001b[2J\u202e' })).toBe(
      String.raw`{
  "note": "\u009b31m\u001b[2J\u202e"
}
`,
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const lines = jsonLines({ text });
        // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
        expect(lines).not.toMatch(/[\0-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(JSON.parse(lines)).toEqual({ text });
      }),
    );
  });
});

describe('duration', () => {
  it.each([
    [0, '0 ms'],
    [12.4, '12 ms'],
    [1_000, '1.0 s'],
    [1_249, '1.2 s'],
    [60_000, '1 min 0 s'],
    [200_400, '3 min 20 s'],
  ])('formats %d ms', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});
