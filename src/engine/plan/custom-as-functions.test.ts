import { expect, it } from 'vitest';
import * as fc from 'fast-check';

import { collect, emit } from '../../../test/support/turn-events.ts';
import { functionTool, turnRequest } from '../../../test/support/turn-request.ts';
import { trickyText } from '../../../test/support/item-shapes.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { customAgain, hasCustomTools, withoutCustomTools, InputOfArguments } from './custom-as-functions.ts';

const CUSTOM: Tool = {
  kind: 'custom',
  name: 'c',
  description: 'Writes.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
  more: { defer_loading: true },
};
const RULE = 'Put the input of this tool into `input`, as one text';
const parameters = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool.' } },
  required: ['input'],
  additionalProperties: false,
};
const call: Item = { kind: 'tool-call', tool: 'custom', callId: '1', name: 'c', input: '"\n' };
const output: Item = { kind: 'tool-output', tool: 'custom', callId: '1', output: 'x' };
const rawSpace = { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'm', format: null }] };
const loaded: Item = {
  kind: 'loaded-tools',
  raw: { type: 'tool_search_output', tools: [rawSpace] },
  tools: [{ kind: 'namespace', name: 'n', raw: rawSpace, members: [{ tool: 'custom', name: 'm' }] }],
};

it('turns everything about custom tools into functions', () => {
  const request = turnRequest({
    tools: [functionTool('f'), CUSTOM],
    toolChoice: { mode: 'allowed', required: true, tools: [{ kind: 'custom', name: 'c' }] },
    items: [loaded, call, output],
  });
  const space = {
    type: 'namespace',
    name: 'n',
    tools: [{ type: 'function', name: 'm', description: `${RULE}.`, parameters }],
  };
  expect(withoutCustomTools(request)).toEqual({
    ...request,
    tools: [
      functionTool('f'),
      functionTool('c', {
        description: `Writes.\n\n${RULE} that matches this grammar (lark):\nstart: "a"`,
        parameters,
        more: { defer_loading: true },
      }),
    ],
    toolChoice: { mode: 'allowed', required: true, tools: [{ kind: 'function', name: 'c' }] },
    items: [
      {
        kind: 'loaded-tools',
        raw: { type: 'tool_search_output', tools: [space] },
        tools: [{ kind: 'namespace', name: 'n', raw: space, members: [{ tool: 'function', name: 'm' }] }],
      },
      { ...call, tool: 'function', input: String.raw`{"input":"\"\n"}` },
      { ...output, tool: 'function' },
    ],
  });
});

it.each<[boolean, readonly Tool[], readonly Item[]]>([
  [false, [functionTool('f')], []],
  [true, [CUSTOM], []],
  [true, [], [loaded]],
  [true, [], [call, output]],
])('finds out whether there are custom tools: %s', (expected, tools, items) => {
  expect(hasCustomTools({ tools, items })).toBe(expected);
});

it('turns only calls of such functions back into custom calls', async () => {
  const told = (name: string, namespace?: string): readonly TurnEvent[] => {
    const spaced = namespace === undefined ? {} : { namespace };
    const head = { kind: 'tool-call', id: name, tool: 'function', callId: name, name, ...spaced } as const;
    return [
      { type: 'item-started', item: { ...head, input: '' } },
      { type: 'item-delta', itemId: name, at: 'input', delta: '{"input":"a\\' },
      { type: 'item-delta', itemId: name, at: 'input', delta: 'nb"}' },
      { type: 'item-ended', item: { ...head, input: '{"input":"a\\nb"}', status: 'completed' } },
    ];
  };
  const events = [...told('c'), ...told('m', 'n'), ...told('f')];
  const shown = await collect(customAgain(emit(events), { tools: [CUSTOM], items: [loaded] }));
  const items = shown.flatMap((event) => (event.type === 'item-ended' ? [event.item] : []));
  expect(items).toMatchObject([
    { tool: 'custom', name: 'c', input: 'a\nb' },
    { tool: 'custom', name: 'm', namespace: 'n', input: 'a\nb' },
    { tool: 'function', name: 'f', input: '{"input":"a\\nb"}' },
  ]);
  const deltas = shown.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []));
  expect(deltas).toEqual(['a', '\nb', 'a', '\nb', '{"input":"a\\', 'nb"}']);
});

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
