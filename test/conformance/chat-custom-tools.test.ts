import { expect, it } from 'vitest';

import { modelErrorBody } from '../../src/demo/model-server.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { openCheckedChat } from './chat-checked.ts';

const { proxy, client } = await openCheckedChat(hello);

const INPUT = '*** Begin\n"q" \\ {} 😀\n';
const DELTAS = ['*** Beg', 'in\n"q" ', '\\ {} 😀', '\n'];
const GRAMMAR = { syntax: 'lark', definition: 'start: "a"' } as const;
const TOOLS = [
  {
    type: 'custom' as const,
    custom: {
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar' as const, grammar: GRAMMAR },
    },
  },
  { type: 'custom' as const, custom: { name: 'note', format: { type: 'text' as const } } },
  { type: 'function' as const, function: { name: 'get_weather', parameters: { type: 'object' } } },
];
const QUESTION = { role: 'user' as const, content: 'Patch it.' };
const ask = { model: 'gpt-5.5', messages: [QUESTION], tools: TOOLS };
const CALLS = [
  { id: 'c1', type: 'custom', custom: { name: 'apply_patch', input: INPUT } },
  { id: 'c2', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
  { id: 'c3', type: 'custom', custom: { name: 'note', input: '' } },
];
const custom = (callId: string, name: string, input: string) => ({
  call: { tool: 'custom' as const, name, arguments: input, callId },
});
const calls = says([
  { ...custom('c1', 'apply_patch', INPUT), deltas: DELTAS },
  { call: { name: 'get_weather', arguments: '{}', callId: 'c2' } },
  { ...custom('c3', 'note', ''), deltas: [] },
]);
const sent = (): Readonly<Record<string, unknown>> => proxy.model.requests.at(-1)?.body ?? {};

/** The calls of a stream, assembled by index as clients do. */
const streamedCalls = async (): Promise<readonly unknown[]> => {
  const stream = await client.openai.chat.completions.create({ ...ask, stream: true });
  const all: { type?: string; [kind: string]: unknown }[] = [];
  for await (const chunk of stream) {
    for (const { index, ...call } of chunk.choices[0]?.delta.tool_calls ?? []) {
      const known = (all[index] ??= {});
      const kind = known.type ?? call.type ?? '';
      const { [kind]: said, ...rest } = call as typeof known;
      const before = known[kind] as Record<string, string> | undefined;
      const joined = Object.entries(said as Record<string, string>).map(([name, text]) => [
        name,
        (before?.[name] ?? '') + text,
      ]);
      Object.assign(known, rest, { [kind]: { ...before, ...Object.fromEntries(joined) } });
    }
  }
  return all;
};

it('a custom tool reaches the model, and its calls come back as JSON and in chunks', async () => {
  proxy.use(calls);
  const { choices } = await client.openai.chat.completions.create(ask);
  expect(choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: null, tool_calls: CALLS },
  });
  expect(sent()['tools']).toEqual([
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar', ...GRAMMAR },
    },
    { type: 'custom', name: 'note', format: { type: 'text' } },
    { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false },
  ]);
  expect(await streamedCalls()).toEqual(CALLS);
});

it('calls and outputs of custom tools are part of the history', async () => {
  proxy.use(inTurn(calls, hello));
  const first = await client.openai.chat.completions.create(ask);
  const outputs = CALLS.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: `out ${id}` }));
  const message = first.choices[0]?.message;
  if (message === undefined) throw new Error('no choice');
  await client.openai.chat.completions.create({ ...ask, messages: [QUESTION, message, ...outputs] });
  expect((sent()['input'] as readonly unknown[]).slice(1)).toMatchObject([
    { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: INPUT },
    { type: 'function_call', call_id: 'c2' },
    { type: 'custom_tool_call', call_id: 'c3', input: '' },
    { type: 'custom_tool_call_output', call_id: 'c1', output: 'out c1' },
    { type: 'function_call_output', call_id: 'c2', output: 'out c2' },
    { type: 'custom_tool_call_output', call_id: 'c3', output: 'out c3' },
  ]);
});

it('a custom tool can be chosen', async () => {
  proxy.use(calls);
  const named = { type: 'custom' as const, custom: { name: 'note' } };
  const allowed = {
    type: 'allowed_tools' as const,
    allowed_tools: { mode: 'auto' as const, tools: [named] },
  };
  const written = { type: 'custom', name: 'note' };
  await client.openai.chat.completions.create({ ...ask, tool_choice: named });
  expect(sent()['tool_choice']).toEqual(written);
  await client.openai.chat.completions.create({ ...ask, tool_choice: allowed });
  expect(sent()['tool_choice']).toEqual({ type: 'allowed_tools', mode: 'auto', tools: [written] });
});

it.each([
  ['custom.format.type', { format: { type: 'xml' } }],
  ['custom.format.grammar', { format: { type: 'grammar', ...GRAMMAR } }],
  ['custom.format.grammar.syntax', { format: { type: 'grammar', grammar: { ...GRAMMAR, syntax: 'bnf' } } }],
  ['custom.name', { name: '' }],
])('an invalid custom tool is rejected by its location: %s', async (param, different) => {
  const tools = [TOOLS[2], { type: 'custom', custom: { name: 'note', ...different } }];
  const response = await proxy.post('/v1/chat/completions', { ...ask, tools });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: `tools[1].${param}` } });
});

it('a backend without custom tools gets functions, and its calls become custom again', async () => {
  proxy.use((request, connection) => {
    if (JSON.stringify(request.body['tools']).includes('"custom"')) {
      const body = modelErrorBody('Unsupported tool type: custom', 'invalid_request_error', null, null);
      return connection.reply(400, body);
    }
    return says([
      {
        call: { name: 'apply_patch', arguments: JSON.stringify({ input: INPUT }), callId: 'c1' },
        chunkSize: 2,
      },
      { call: { name: 'get_weather', arguments: '{}', callId: 'c2' } },
      { call: { name: 'note', arguments: '', callId: 'c3' } },
    ])(request, connection);
  });
  const { choices } = await client.openai.chat.completions.create(ask);
  expect(choices[0]?.message.tool_calls).toEqual(CALLS);
  expect(await streamedCalls()).toEqual(CALLS);
});
