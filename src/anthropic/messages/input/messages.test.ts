import { describe, expect, it } from 'vitest';

import type { Item, Reasoning } from '../../../canonical/request/item.ts';
import { CALL, read, USER } from '../../../../test/support/messages-ask.ts';
import { refused } from '../../../../test/support/refused.ts';

const itemsOf = (messages: readonly unknown[], more: object = {}): readonly Item[] =>
  read({ messages, ...more }).request.items;
const text = (value: string) => ({ type: 'text', text: value });
const message = (role: string, ...texts: readonly string[]) => ({
  kind: 'message',
  role,
  parts: texts.map((one) => ({ kind: 'text', text: one })),
});
const result = (more: object = {}) => ({ type: 'tool_result', tool_use_id: 'toolu_1', ...more });
const called = (...results: readonly unknown[]): readonly unknown[] => [
  USER,
  { role: 'assistant', content: [CALL] },
  { role: 'user', content: results },
];
const call = { kind: 'tool-call', tool: 'function', callId: 'toolu_1', name: 'f', input: '{}' };
const output = (value: unknown) => ({
  kind: 'tool-output',
  tool: 'function',
  callId: 'toolu_1',
  output: value,
});

describe('the system prompt', () => {
  it('is a system message in front, without the billing block and marks for the cache', () => {
    const system = [
      { ...text('x-anthropic-billing-header: cc_version=2.1.325.abc'), cache_control: { type: 'ephemeral' } },
      { ...text('You are Claude Code.'), cache_control: { type: 'ephemeral' } },
      text(''),
      text('Be brief.'),
    ];
    const { request, ignored } = read({ system, messages: [USER] });
    expect(request.items).toEqual([
      message('system', 'You are Claude Code.', 'Be brief.'),
      message('user', 'Hi.'),
    ]);
    expect(ignored).toEqual([]);
  });

  it('is left out, and named, if the server ignores the prompts of clients', () => {
    const { request, ignored, names } = read(
      { system: 'Be brief.', messages: [{ role: 'system', content: 'Now.' }, USER] },
      { ignoreClientPrompt: true },
    );
    expect(request.items).toEqual([message('user', 'Hi.')]);
    expect(ignored).toEqual(['system', 'messages[0]']);
    expect(names.places).toEqual(['messages[1]']);
  });

  it('has only texts', () => {
    const failure = refused(() => read({ system: [{ type: 'image' }], messages: [USER] }));
    expect([failure.status, failure.param]).toEqual([400, 'system[0].type']);
  });
});

describe('a system message', () => {
  it('stays at its place', () => {
    expect(itemsOf([USER, { role: 'system', content: [text('Now.')] }])).toEqual([
      message('user', 'Hi.'),
      message('system', 'Now.'),
    ]);
  });

  it('is left out after the next user message if it says so', () => {
    const system = { role: 'system', content: 'Once.', clear_at: 'next_user_message' };
    expect(itemsOf([USER, system])).toEqual([message('user', 'Hi.'), message('system', 'Once.')]);
    const later = [USER, system, { role: 'assistant', content: 'Yes.' }, USER];
    expect(itemsOf(later)).toEqual([
      message('user', 'Hi.'),
      message('assistant', 'Yes.'),
      message('user', 'Hi.'),
    ]);
    expect(itemsOf([USER, { ...system, clear_at: 'never' }, USER])).toHaveLength(3);
  });

  it('needs content or an effort', () => {
    expect(refused(() => read({ messages: [USER, { role: 'system' }] })).param).toBe('messages[1].content');
    const { request } = read({ messages: [USER, { role: 'system', output_config: { effort: 'low' } }] });
    expect([request.items.length, request.reasoning.effort]).toEqual([1, 'low']);
  });
});

describe('empty texts', () => {
  it('are left out', () => {
    const messages = [
      { role: 'user', content: [text(''), text('Hi.')] },
      { role: 'assistant', content: [text(''), text('Yes.')] },
      { role: 'assistant', content: '' },
      USER,
    ];
    expect(itemsOf(messages)).toEqual([
      message('user', 'Hi.'),
      message('assistant', 'Yes.'),
      message('user', 'Hi.'),
    ]);
  });

  it.each([[''], [[]], [[text('')]]])(
    'are kept as the turn of the user if there is nothing else: %j',
    (content) => {
      expect(itemsOf([USER, { role: 'assistant', content: 'Yes.' }, { role: 'user', content }])[2]).toEqual(
        message('user', ''),
      );
    },
  );

  it('are not enough for a conversation', () => {
    expect(refused(() => itemsOf([{ role: 'assistant', content: '' }])).param).toBe('messages');
  });
});

describe('an assistant message', () => {
  it('has an item for each block, in order', () => {
    const reasoning: Reasoning = { kind: 'reasoning', id: 'rs_1', summary: ['Hm.'] };
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 's' };
    const content = [thinking, text('First'), text('then'), { ...CALL, caller: { type: 'direct' } }];
    const { request, names, ignored } = read(
      { messages: [USER, { role: 'assistant', content }, { role: 'user', content: [result()] }] },
      { readReasoning: (block) => (block['signature'] === 's' ? reasoning : null) },
    );
    expect(request.items).toEqual([
      message('user', 'Hi.'),
      reasoning,
      message('assistant', 'First'),
      message('assistant', 'then'),
      call,
      output(''),
    ]);
    expect(names.places).toEqual([
      'messages[0]',
      'messages[1].content[0]',
      'messages[1].content[1]',
      'messages[1].content[2]',
      'messages[1].content[3]',
      'messages[2].content[0]',
    ]);
    expect(ignored).toEqual([]);
  });

  it.each([
    { type: 'thinking', thinking: 'Hm.', signature: 'EpAB' },
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'redacted_thinking', data: 'x' },
  ])('loses thinking of another server: $type', (block) => {
    const messages = [USER, { role: 'assistant', content: [block, text('Yes.')] }, USER];
    expect(itemsOf(messages)).toEqual([
      message('user', 'Hi.'),
      message('assistant', 'Yes.'),
      message('user', 'Hi.'),
    ]);
  });

  it('keeps the web searches of this server, and names those of others', () => {
    const search = (id: string) => [
      { type: 'server_tool_use', id, name: 'web_search', input: { query: 'rain' } },
      { type: 'web_search_tool_result', tool_use_id: id, content: [] },
    ];
    const content = [...search('srvtoolu_ws_1'), ...search('srvtoolu_01AbC'), text('Yes.')];
    const { request, ignored } = read({ messages: [USER, { role: 'assistant', content }, USER] });
    expect(request.items[1]).toEqual({
      kind: 'hosted-call',
      id: 'ws_1',
      raw: {
        type: 'web_search_call',
        status: 'completed',
        action: { type: 'search', query: 'rain' },
      },
    });
    expect(request.items).toHaveLength(4);
    expect(ignored).toEqual(['messages[1].content[2]', 'messages[1].content[3]']);
  });

  it('cannot be the last one, except to be counted', () => {
    const messages = [USER, { role: 'assistant', content: '{' }];
    const failure = refused(() => itemsOf(messages));
    expect([failure.status, failure.param]).toEqual([400, 'messages[1]']);
    expect(failure.message).toContain('does not support assistant message prefill');
    expect(read({ messages }, { isCount: true }).request.items).toHaveLength(2);
    expect(itemsOf([USER, { role: 'assistant', content: '' }])).toHaveLength(1);
  });
});

describe('the result of a tool', () => {
  it.each([
    [{}, ''],
    [{ content: null }, ''],
    [{ content: [] }, ''],
    [{ content: 'Rain.' }, 'Rain.'],
    [{ content: [{ ...text('Rain.'), cache_control: { type: 'ephemeral' } }] }, 'Rain.'],
    [{ content: 'Rain.', is_error: false }, 'Rain.'],
    [{ content: 'No file.', is_error: true }, 'Error: The tool call failed.\nNo file.'],
    [{ is_error: true }, 'Error: The tool call failed.'],
  ])('%j is %j', (more, expected) => {
    const { request, ignored } = read({ messages: called(result(more)) });
    expect(request.items.slice(1)).toEqual([call, output(expected)]);
    expect(ignored).toEqual([]);
  });

  it('keeps images and several texts', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://images.test/a.png' } };
    const content = [text('a'), image, text('b')];
    const { request, names } = read({ messages: called(result({ content, is_error: true })) });
    const parts = [
      { kind: 'text', text: 'Error: The tool call failed.' },
      { kind: 'text', text: 'a' },
      { kind: 'image', url: 'https://images.test/a.png' },
      { kind: 'text', text: 'b' },
    ];
    expect(request.items[2]).toEqual(output(parts));
    expect(names.part?.({ item: 2, of: 'output', part: 2 })).toBe('messages[2].content[0].content[1]');
  });

  it('comes before the other blocks of its message, which keep their order', () => {
    const messages = [
      USER,
      { role: 'assistant', content: [CALL, { ...CALL, id: 'toolu_2' }] },
      {
        role: 'user',
        content: [
          text('before'),
          { ...result(), tool_use_id: 'toolu_2' },
          text('between'),
          result(),
          text('after'),
        ],
      },
    ];
    const { request, names } = read({ messages });
    expect(request.items.slice(3)).toEqual([
      { ...output(''), callId: 'toolu_2' },
      output(''),
      message('user', 'before', 'between', 'after'),
    ]);
    expect(names.places.slice(3)).toEqual([
      'messages[2].content[1]',
      'messages[2].content[3]',
      'messages[2]',
    ]);
    expect(names.part?.({ item: 5, of: 'content', part: 1 })).toBe('messages[2].content[2]');
  });

  it.each([
    ['without a call', [{ role: 'user', content: [result()] }], 'messages[0].content[0].tool_use_id'],
    ['twice', called(result(), result()), 'messages[2].content[1].tool_use_id'],
    ['missing', [USER, { role: 'assistant', content: [CALL] }, USER], 'messages[1].content[0]'],
    ['missing at the end', [USER, { role: 'assistant', content: [CALL] }], 'messages[1].content[0]'],
    ['of two calls', [USER, { role: 'assistant', content: [CALL, CALL] }], 'messages[1].content[1].id'],
  ])('%s is rejected by place', (_, messages, param) => {
    const failure = refused(() => itemsOf(messages));
    expect([failure.status, failure.param]).toEqual([400, param]);
    expect(failure.message.startsWith(`${param}: `)).toBe(true);
    expect(failure.message.split(param)).toHaveLength(2);
    expect(failure.message).toContain('toolu_1');
  });
});

it('names unknown fields, and rejects unknown blocks by their type', () => {
  const { ignored } = read({
    future: 1,
    messages: [
      { ...USER, name: 'x' },
      { role: 'user', content: [{ ...text('a'), mood: 'x' }] },
    ],
  });
  expect(ignored).toEqual(['future', 'messages[0].name', 'messages[1].content[0].mood']);
  const failure = refused(() => itemsOf([{ role: 'user', content: [{ type: 'container_upload' }] }]));
  expect([failure.status, failure.param]).toEqual([400, 'messages[0].content[0].type']);
  expect(failure.message).toContain("'container_upload'");
});
