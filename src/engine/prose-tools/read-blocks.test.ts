import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { atOnce } from '../../kit/async/event-loop.ts';
import { HALF, joined, piecesOf, readAll, textOf, type Read } from '../../../test/support/read-pieces.ts';
import { BlockReader, type TextEnd } from './read-blocks.ts';
import { writeCall } from './written-call.ts';

const A = { name: 'a', input: '{"x": 1}' };
const B = { name: 'b', input: '{}' };
const BLOCK = writeCall(A);

const CASES: readonly (readonly [string, string, Read])[] = [
  ['a call', BLOCK, [A]],
  ['text around a call', `Let me look.\n\n${BLOCK}\nDone.`, ['Let me look.\n\n', A, '\nDone.']],
  ['white space that only separates', `\n ${BLOCK}\n\n${writeCall(B)} \n`, [A, B]],
  ['arguments as an object', '<tool_call>{"name":"a","arguments":{"x": 1}}</tool_call>', [A]],
  [
    'the source of an object, byte for byte',
    '<tool_call>{"arguments" : { "x" :1.0,"x":\t"\\u00e9 </tool_call>"} , "name":"a"}</tool_call>',
    [{ name: 'a', input: '{ "x" :1.0,"x":\t"\\u00e9 </tool_call>"}' }],
  ],
  [
    'no arguments',
    '<tool_call>{"name":"b"}</tool_call><tool_call>{"name":"b","arguments":null}</tool_call>',
    [B, B],
  ],
  ['arguments that are not JSON', writeCall({ name: 'a', input: '{x' }), [{ name: 'a', input: '{x' }]],
  ['a list', '<tool_call>[{"name":"a","arguments":"{\\"x\\": 1}"}, {"name":"b"}]</tool_call>', [A, B]],
  ['one call after the other in a block', '<tool_call>{"name":"b"}\n{"name":"b"},</tool_call>', [B, B]],
  ['a fence around', '```json\n<tool_call>{"name":"b"}</tool_call>\n```', [B]],
  ['a fence around it, and text after it', '```\n<tool_call>{"name":"b"}</tool_call>\n```\nso', [B, '\nso']],
  [
    'a fence around two',
    '```\n<tool_call>{"name":"b"}</tool_call>\n<tool_call>{"name":"b"}</tool_call>\n```',
    [B, B],
  ],
  ['a fence inside', '<tool_call>\n```json\n{"name":"b"}\n```\n</tool_call>', [B]],
  ['trailing characters inside', '<tool_call>{"name":"b"}}]></tool_call>', [B]],
  ['trailing characters', '<tool_call>{"name":"b"}</tool_call>>', [B]],
  ['closing tags that are repeated', '<tool_call>{"name":"b"}</tool_call></tool_call>\n</tool_call>', [B]],
  ['tags in capitals', '<TOOL_CALL>{"name":"b"}</Tool_Call>', [B]],
  [
    'a line break in a string',
    '<tool_call>{"name":"a","arguments":"x\ny"}</tool_call>',
    [{ name: 'a', input: 'x\ny' }],
  ],
  ['tags in arguments', writeCall({ name: 'a', input: BLOCK }), [{ name: 'a', input: BLOCK }]],
  ['only white space', ' \n ', [' \n ']],
  ['nothing', '', []],
  ['a call with half a closing tag', `x ${BLOCK.slice(0, -1)}`, ['x ', A]],
  ['a call without a closing tag', '<tool_call>\n{"name":"b"}\n', [B]],
  ['half a call', '<tool_call>{"name":"a', ['<tool_call>{"name":"a']],
  ['half a call after a call', `${BLOCK}\n<tool_call>{"name`, [A, '\n<tool_call>{"name']],
  ['half a call in half a call', '<tool_call>{"a":"<tool_call>{"', ['<tool_call>{"a":"<tool_call>{"']],
  ['half a tag', 'x <tool_ca', ['x <tool_ca']],
  ['half a tag in a fence', 'x ```json\n<tool_', ['x ```json\n<tool_']],
  ['half a closing tag after a call', `${BLOCK}\n</tool_`, [A]],
  ['an incomplete tag at the end of the text', 'x <tool', ['x <tool']],
  ['a fence at the end', 'x ```json\n', ['x ```json\n']],
  [
    'a string that never closes, with a closing tag in it',
    '<tool_call>{"name":"a</tool_call> so',
    ['<tool_call>{"name":"a</tool_call> so'],
  ],
  ['blocks in blocks', '<tool_call>{"a":"'.repeat(4), ['<tool_call>{"a":"'.repeat(4)]],
  ['no JSON', '<tool_call>a</tool_call>', ['<tool_call>a</tool_call>']],
  ['no name', '<tool_call>{"arguments":"{}"}</tool_call>', ['<tool_call>{"arguments":"{}"}</tool_call>']],
  ['a name that is not a string', '<tool_call>{"name":1}</tool_call>', ['<tool_call>{"name":1}</tool_call>']],
  ['an empty list', '<tool_call>[]</tool_call>', ['<tool_call>[]</tool_call>']],
  ['invalid JSON', '<tool_call>{"name":"a",}</tool_call>', ['<tool_call>{"name":"a",}</tool_call>']],
  [
    'quotes that are not escaped',
    `<tool_call>{"name":"a","arguments":"{"q"</tool_call>${BLOCK}`,
    ['<tool_call>{"name":"a","arguments":"{"q"</tool_call>', A],
  ],
  ['a tag in the text', `the tag <tool_call> begins ${BLOCK}`, ['the tag <tool_call> begins ', A]],
  ['a closing tag in the text', 'the tag </tool_call> ends', ['the tag </tool_call> ends']],
  ['code', 'a `b` ```ts\nx<y\n```\n', ['a `b` ```ts\nx<y\n```\n']],
  [
    'too many trailing characters',
    `<tool_call>{"name":"b"}${'x'.repeat(300)}</tool_call>`,
    [`<tool_call>{"name":"b"}${'x'.repeat(300)}</tool_call>`],
  ],
];

describe('blocks in a text', () => {
  it.each(CASES)('%s', (_, text, expected) => {
    expect(readAll([text])).toEqual(expected);
    expect(readAll(text)).toEqual(expected);
  });

  it.each([
    ['a tag', 'x <', ['x ', HALF]],
    ['a tag in a fence', 'x ```\n<t', ['x ', HALF]],
    ['a closing tag', `${BLOCK}</`, [A]],
    ['a string with a closing tag in it', '<tool_call>{"name":"a</tool_call> so', [HALF]],
    ['a block without its closing tag', `x${BLOCK.slice(0, -5)}`, ['x', HALF]],
    ['a fence', 'x ```json', ['x ```json']],
    ['blocks in blocks', '<tool_call>{"a":"'.repeat(4), ['<tool_call>{"a":"'.repeat(3), HALF]],
    ['spaces', 'x \n', ['x \n']],
  ] as const)('shows nothing of %s in which the text was cut off', (_, text, expected) => {
    expect(readAll([text], 'cut-off')).toEqual(expected);
    expect(readAll(text, 'cut-off')).toEqual(expected);
  });

  it('holds back only what may become a block', () => {
    const reader = new BlockReader();
    const told = ['Hel', 'lo <', 'b> <tool', '_call', 'er> `', '``', 'x y'].map((delta) =>
      textOf(joined(atOnce(reader.read(delta)))),
    );
    expect(told).toEqual(['Hel', 'lo ', '<b> ', '', '<tool_caller> ', '', '```x y']);
  });

  it('reports a call as soon as its block is closed', () => {
    const reader = new BlockReader();
    expect(joined(atOnce(reader.read(BLOCK.slice(0, -1))))).toEqual([]);
    expect(joined(atOnce(reader.read('>')))).toEqual([A]);
  });
});

/** Parts of calls that do not make a call. */
const fragment = fc.oneof(
  fc.constantFrom(
    '<tool_call>',
    '<tool_call>{"a":"',
    '</tool_call>',
    '<tool_',
    'call>',
    '{"name":1',
    '{"arguments":"{}"}',
    '[',
    ']',
    '}',
    '"',
    '\\',
    '```',
    '```json\n',
    '\n',
    ' ',
    '>',
    '<',
  ),
  fc.string({ maxLength: 5 }),
);
const noCall = fc.array(fragment, { maxLength: 20 }).map((bits) => bits.join(''));
const bit = fc.oneof(
  { weight: 4, arbitrary: fragment },
  fc.constantFrom(
    '{"name":"a","arguments":"{}"}',
    '{"name":"b","arguments":{"x":"</tool_call>"}}',
    '{"name":',
    BLOCK,
  ),
);
const anyText = fc.array(bit, { maxLength: 20 }).map((bits) => bits.join(''));

/** Blocks in strings of blocks, which overlap in every way. */
const nested = fc
  .array(
    fc.constantFrom(
      '<tool_call>{"a":"',
      '<tool_call>["',
      '<tool_call>{"',
      '<tool_call>[]',
      '["<tool_call>[]"],',
      '":":"',
      '","',
      '"]',
      '"}',
      '</tool_call>',
      '</tool_',
      '{"name":"a"}',
      'x',
    ),
    { maxLength: 12 },
  )
  .map((bits) => bits.join(''));

describe('any text', () => {
  it('is read the same however it is split', () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(200), { maxLength: 20 }), (text, cuts) => {
        const places = [...new Set([0, ...cuts.filter((at) => at < text.length), text.length])].toSorted(
          (a, b) => a - b,
        );
        const deltas = places.slice(1).map((to, index) => text.slice(places[index], to));
        expect(readAll(deltas)).toEqual(readAll([text]));
        expect(readAll(text.split(''))).toEqual(readAll([text]));
      }),
    );
  });

  it('with nested blocks is read to its end, the same however it is split, at every length', () => {
    fc.assert(
      fc.property(nested, fc.integer({ min: 1, max: 17 }), (text, size) => {
        for (let length = 1; length <= text.length; length += 1) {
          const whole = text.slice(0, length);
          const deltas = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
          for (const how of ['finished', 'cut-off'] as const) {
            const pieces = piecesOf(deltas, how);
            expect(joined(pieces)).toEqual(readAll([whole], how));
            const chars = pieces.map((piece) => (piece.kind === 'text' ? piece.text.length : piece.chars));
            expect(chars.reduce((sum, one) => sum + one, 0)).toBe(length);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it('equals its pieces joined', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom<TextEnd>('finished', 'cut-off'), (text, how) => {
        let at = 0;
        for (const piece of piecesOf(text.split(''), how)) {
          if (piece.kind === 'text') expect(text.slice(at, at + piece.text.length)).toBe(piece.text);
          at += piece.kind === 'text' ? piece.text.length : piece.chars;
        }
        expect(at).toBe(text.length);
      }),
    );
  });

  it('without a call arrives whole, however it is split', () => {
    fc.assert(
      fc.property(noCall, fc.integer({ min: 1, max: 17 }), (text, size) => {
        const deltas = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        expect(readAll(deltas)).toEqual(text === '' ? [] : [text]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never shows a part of a call while it is being written', () => {
    fc.assert(
      fc.property(noCall, (text) => {
        // An unclosed string may contain the block.
        fc.pre(readAll([text + BLOCK]).at(-1) !== text + BLOCK);
        const reader = new BlockReader();
        let shown = textOf(joined(atOnce(reader.read(text))));
        for (const char of BLOCK.slice(0, -1)) shown += textOf(joined(atOnce(reader.read(char))));
        expect(text.startsWith(shown)).toBe(true);
        expect(joined(atOnce(reader.read('>'))).at(-1)).toEqual(A);
      }),
      { numRuns: 1_000 },
    );
  });

  it('without a tag is passed on unchanged', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const plain = text.replaceAll(/tool_+/gi, 'tool');
        expect(textOf(readAll(plain.split('')))).toBe(plain);
      }),
    );
  });

  it('yields the calls written into it, and the text between them', () => {
    const odd = fc.constantFrom('é', '😀', '\uD83D', '"', '\\', '\n', '\0', '</tool_call>', BLOCK);
    const input = fc.array(fc.oneof(odd, fc.string({ maxLength: 5 })), { maxLength: 5 });
    const call = fc.record({
      name: fc.string({ minLength: 1 }),
      input: input.map((bits) => bits.join('')),
    });
    const words = fc.string().filter((text) => text.trim() !== '' && !/[<`>]/.test(text));
    fc.assert(
      fc.property(fc.array(fc.tuple(words, call), { maxLength: 3 }), words, (turns, last) => {
        const expected: Read = [...turns.flat(), last];
        const text = [...turns.map(([before, made]) => before + writeCall(made)), last].join('');
        expect(readAll(text.split(''))).toEqual(expected);
      }),
    );
  });
});
