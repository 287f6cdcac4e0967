import { expect, it } from 'vitest';

import { collect, emit } from '../../../test/support/turn-events.ts';
import { functionTool, turnRequest } from '../../../test/support/turn-request.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { customAgain, hasCustomTools, withoutCustomTools } from './custom-as-functions.ts';

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
