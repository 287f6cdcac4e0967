import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { trickyText } from '../../../test/support/item-shapes.ts';
import { InputOfArguments } from './input-of-arguments.ts';

const read = (deltas: readonly string[]): { readonly said: readonly string[]; readonly text: string } => {
  const input = new InputOfArguments();
  const said = deltas.map((delta) => input.take(delta));
  said.push(input.end());
  return { said, text: input.text };
};

/** A text in pieces, cut anywhere. */
const cut = (text: string, at: readonly number[]): readonly string[] => {
  const places = at.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b);
  return [...places, text.length].map((place, index) => text.slice(places[index - 1] ?? 0, place));
};

it('decodes any input, however its arguments are split', () => {
  const anyText = fc.oneof(
    fc.array(trickyText, { maxLength: 8 }).map((texts) => texts.join('')),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  const written = anyText.chain((text) =>
    fc
      .constantFrom(
        JSON.stringify({ input: text }),
        JSON.stringify({ input: text }, null, 2),
        ` {\n"input" :\t${escapedAll(text)} } `,
        JSON.stringify({ input: text, more: [1] }),
        JSON.stringify({ more: { input: 'no' }, input: text }),
      )
      .map((args) => ({ text, args })),
  );
  fc.assert(
    fc.property(written, fc.array(fc.nat(), { maxLength: 12 }), ({ text, args }, places) => {
      const { said, text: whole } = read(cut(args, places));
      expect(said.join('')).toBe(text);
      expect(whole).toBe(text);
    }),
  );
});

it('returns text at once, and no half characters', () => {
  const { said } = read(['{"inp', 'ut": "a', 'b\\', 'n\\u00', '41\\ud83d', '\\ude00c', '"}']);
  expect(said).toEqual(['', 'a', 'b', '\n', 'A', '😀c', '', '']);
});

it.each([
  ['no arguments', '', ''],
  ['an empty object', '{}', ''],
  ['text that is not JSON', '*** Begin Patch', '*** Begin Patch'],
  ['another object', '{"patch":"x"}', '{"patch":"x"}'],
  ['an input that is not a string', '{"input":{"a":1}}', '{"input":{"a":1}}'],
  ['a text in quotes', '"x"', '"x"'],
  ['an incomplete text', '{"input":"a\\nb', 'a\nb'],
  ['a text that breaks off in an escape', '{"input":"a\\u00', 'a\\u00'],
  ['a text with line breaks of its own', '{"input":"a\nb"}', 'a\nb'],
  ['escapes that JSON does not have', '{"input":"\\d\\uzzzz"}', '\\d\\uzzzz'],
  ['escapes of both kinds', '{"input":"\\n\\d\\\\\\"q\\u0041"}', '\n\\d\\"qA'],
  ['many spaces', `{${' '.repeat(500)}"input":"x"}`, 'x'],
])('reads %s', (_, args, expected) => {
  for (const deltas of [[args], args.split('')]) expect(read(deltas).text).toBe(expected);
});

const escapedAll = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
