import { describe, expect, it } from 'vitest';

import { USER, read } from '../../../../test/support/messages-ask.ts';
import type { Item } from '../../../canonical/request/item.ts';

const SCHEMA = { type: 'object' };
const declared = (name: string, more: object = {}) => ({ name, input_schema: SCHEMA, ...more });
const late = (name: string) => declared(name, { defer_loading: true });
const used = (id: string) => ({ type: 'tool_use', id, name: 'ToolSearch', input: {} });
const result = (id: string, ...names: readonly string[]) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: names.map((name) => ({ type: 'tool_reference', tool_name: name })),
});
const found = (id: string, ...names: readonly string[]) => [
  { role: 'assistant', content: [used(id)] },
  { role: 'user', content: [result(id, ...names)] },
];
const changed = (type: string, tool: object) => ({ role: 'system', content: [{ type, tool }] });
const reference = (name: string) => ({ type: 'tool_reference', name });

const tool = (name: string) => ({
  kind: 'function',
  name,
  description: null,
  parameters: SCHEMA,
  strict: false,
});
const loaded = (...names: readonly string[]): Item => {
  const raw = names.map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: false }));
  return {
    kind: 'loaded-tools',
    raw: { type: 'additional_tools', role: 'developer', tools: raw },
    tools: names.map(tool),
    isOurs: true,
  } as Item;
};
/** The conversation in words. */
const inWords = ({ items }: { readonly items: readonly Item[] }): readonly string[] =>
  items.map((item) => {
    if (item.kind === 'loaded-tools')
      return `+${item.tools.map((one) => ('name' in one ? one.name : '')).join()}`;
    return item.kind === 'tool-output' && typeof item.output === 'string'
      ? `output ${item.output}`
      : item.kind;
  });

describe('tools that load late', () => {
  it('are declared where the conversation first refers to them', () => {
    const messages = [USER, ...found('c1', 'b'), USER, ...found('c2', 'b', 'c', 'b')];
    const { request, ignored } = read({ messages, tools: [late('c'), late('b'), declared('a'), late('d')] });
    expect(request.tools).toEqual([tool('a')]);
    expect(request.items.filter(({ kind }) => kind === 'loaded-tools')).toEqual([loaded('b'), loaded('c')]);
    expect(inWords(request)).toEqual([
      'message',
      'tool-call',
      'output Loaded tools: b',
      '+b',
      'message',
      'tool-call',
      'output Loaded tools: b, c, b',
      '+c',
    ]);
    expect(ignored).toEqual([]);
  });

  it('follow all outputs of an answer, and keep what the search says', () => {
    const said = {
      ...result('c1', 'b'),
      content: [{ type: 'text', text: 'Found.' }, ...result('', 'b').content],
    };
    const messages = [
      USER,
      { role: 'assistant', content: [used('c1'), used('c2')] },
      {
        role: 'user',
        content: [said, { type: 'tool_result', tool_use_id: 'c2' }, { type: 'text', text: 'Go.' }],
      },
    ];
    expect(inWords(read({ messages, tools: [late('b')] }).request)).toEqual([
      'message',
      'tool-call',
      'tool-call',
      'output Found.',
      'output ',
      '+b',
      'message',
    ]);
  });

  it('can be added, defined and removed by system messages', () => {
    const inline = { type: 'tool_definition', definition: declared('c') };
    const messages = [
      USER,
      changed('tool_addition', reference('b')),
      changed('tool_addition', inline),
      changed('tool_removal', reference('a')),
      changed('tool_removal', reference('b')),
      changed('tool_addition', reference('b')),
      USER,
    ];
    const { request } = read({ messages, tools: [declared('a'), late('b')] });
    expect(inWords(request)).toEqual(['message', '+b', '+c', 'message']);
    expect([request.tools, request.toolChoice]).toEqual([
      [tool('a')],
      {
        mode: 'allowed',
        required: false,
        tools: [
          { kind: 'function', name: 'b' },
          { kind: 'function', name: 'c' },
        ],
      },
    ]);
  });

  it('limit a tool choice to those that were not removed', () => {
    const messages = [changed('tool_removal', reference('a')), USER];
    const tools = [declared('a')];
    const choose = (type: string) => read({ messages, tools, tool_choice: { type } }).request.toolChoice;
    expect(choose('auto')).toEqual({ mode: 'none' });
    expect(() => choose('any')).toThrow("Tool choice 'any' must be specified");
    expect(() => read({ messages, tools, tool_choice: { type: 'tool', name: 'a' } })).toThrow(
      "Tool choice 'a' not found",
    );
  });

  it('have a name that backends accept, and one that the client knows', () => {
    const long = `mcp__server__${'x'.repeat(80)}`;
    const short = `mcp__server__${'x'.repeat(42)}_1bd2cffc`;
    const messages = [
      USER,
      ...found('c1', long),
      { role: 'assistant', content: [{ ...used('c2'), name: long }] },
    ];
    const answered = [...messages, { role: 'user', content: [result('c2')] }];
    const choice = { type: 'tool', name: long };
    const { request, clientNames } = read({ messages: answered, tools: [late(long)], tool_choice: choice });
    expect(request.items.filter(({ kind }) => kind === 'loaded-tools')).toEqual([loaded(short)]);
    expect(request.items.at(-2)).toMatchObject({ kind: 'tool-call', name: short });
    expect(request.toolChoice).toEqual({ mode: 'named', tool: { kind: 'function', name: short } });
    expect([...clientNames]).toEqual([[short, long]]);
    expect(short).toHaveLength(64);
  });

  it('are named as ignored if they are unknown', () => {
    const messages = [USER, ...found('c1', 'gone'), changed('tool_removal', reference('gone')), USER];
    expect(read({ messages, tools: [] }).ignored).toEqual([
      'messages[2].content[0].content[0]',
      'messages[3].content[0]',
    ]);
  });

  it('are rejected if a change is invalid', () => {
    const changes: readonly (readonly [object, string])[] = [
      [changed('tool_addition', { type: 'mcp_toolset_reference' }), 'messages[1].content[0].tool.type'],
      [changed('tool_removal', { type: 'tool_definition' }), 'messages[1].content[0].tool.type'],
      [changed('tool_addition', { type: 'tool_reference' }), 'messages[1].content[0].tool.name'],
      [
        changed('tool_addition', { type: 'tool_definition', definition: { name: 'x' } }),
        'messages[1].content[0].tool.definition.input_schema',
      ],
    ];
    for (const [change, param] of changes) {
      expect(() => read({ messages: [USER, change] })).toThrow(
        expect.objectContaining({ failure: expect.objectContaining({ param }) as unknown }) as Error,
      );
    }
  });

  it('are as few as the declared ones, and their schemas are checked as far', () => {
    const defined = (name: string, schema: object) => ({
      type: 'tool_addition',
      tool: { type: 'tool_definition', definition: { name, input_schema: schema } },
    });
    const additions = Array.from({ length: 1_024 }, (_, index) => defined(`t${index}`, SCHEMA));
    const messages = [USER, { role: 'system', content: additions }];
    expect(() => read({ messages, tools: [declared('one')] })).toThrow(
      "messages[1].content[1023].tool.definition: too many tools. Expected at most 1024 in 'tools' and all messages.",
    );
    const broken = defined('broken', { type: 'object', properties: 7 });
    const large = defined('large', { type: 'object', allOf: Array.from({ length: 20_000 }, () => ({})) });
    const checked = (...content: readonly object[]) =>
      read({ messages: [USER, { role: 'system', content }] });
    expect(() => checked(broken)).toThrow("Invalid schema for function 'broken'");
    // The backend checks the rest.
    expect(inWords(checked(large, broken).request)).toEqual(['message', '+large,broken']);
  });
});
