import type { ChatCompletion, ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { itemsOf, textOf } from '../clients/rounds.ts';
import { hello, reasoningThenText } from '../support/scripts.ts';
import { HELLO } from './chat-ask.ts';
import { openCheckedChat } from './chat-checked.ts';

/** Bodies that Cursor posts to the Chat path: Responses bodies, and mixtures of both. */

const { proxy, client } = await openCheckedChat(hello);

const PATCH = '*** Begin Patch\n*** Update File: a "b".txt\n+😀\n*** End Patch';
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
const PARAMETERS = { type: 'object', properties: { path: { type: 'string' } } };
const TOOLS = [
  { type: 'function', name: 'ReadFile', description: 'Reads.', parameters: PARAMETERS, strict: false },
  { type: 'custom', name: 'ApplyPatch', description: 'Edits.', format: GRAMMAR },
  { type: 'function', function: { name: 'Shell', description: 'Runs.', parameters: PARAMETERS } },
];
const CURSOR = {
  model: 'gpt-5.5',
  user: 'someone',
  stream: true,
  stream_options: { include_usage: true },
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'medium', summary: 'auto' },
  text: { verbosity: 'low' },
  store: false,
  prompt_cache_retention: '24h',
  metadata: { cursorConversationId: '1' },
  previous_response_id: null,
  truncation: 'disabled',
  tools: TOOLS,
  tool_choice: 'auto',
};
const INPUT = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'input_text', text: 'Patch it.' }] },
];
const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Patch it.' },
];
const CALLS = [
  { id: 'c1', type: 'function', function: { name: 'ApplyPatch', arguments: PATCH } },
  { id: 'c2', type: 'function', function: { name: 'ReadFile', arguments: '{"path":"a"}' } },
];

/** A model that edits and reads, then reports the results. */
const edits: Script = ({ body }, connection) => {
  const outputs = itemsOf(body).filter(({ output }) => output !== undefined);
  return answer(
    connection,
    outputs.length > 0
      ? [{ text: outputs.map(({ output }) => textOf(output)).join(' and ') }]
      : [
          { call: { tool: 'custom', name: 'ApplyPatch', arguments: PATCH, callId: 'c1' } },
          { call: { name: 'ReadFile', arguments: '{"path":"a"}', callId: 'c2' } },
        ],
  );
};

const sent = (): JsonObject => proxy.model.requests.at(-1)?.body ?? {};

const ask = (body: object): Promise<ChatCompletion> =>
  client.openai.chat.completions.create({
    ...body,
    stream: false,
    stream_options: undefined,
  } as never);

/** The message of a stream, assembled as clients do. */
const streamed = async (body: object) => {
  const stream = await client.openai.chat.completions.create({
    ...(body as ChatCompletionCreateParamsStreaming),
    stream: true,
  });
  let content = '';
  let usage: unknown = null;
  const calls: { id?: string; type?: string; function: { name: string; arguments: string } }[] = [];
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    const delta = chunk.choices[0]?.delta;
    content += delta?.content ?? '';
    for (const { index, function: said, ...rest } of delta?.tool_calls ?? []) {
      const call = (calls[index] ??= { function: { name: '', arguments: '' } });
      Object.assign(call, rest);
      call.function.name += said?.name ?? '';
      call.function.arguments += said?.arguments ?? '';
    }
  }
  return { content, calls, usage };
};

const RETURNED = [
  { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'ApplyPatch', arguments: PATCH },
  { type: 'function_call', call_id: 'c2', name: 'ReadFile', arguments: '{"path":"a"}' },
  { type: 'function_call_output', call_id: 'c1', output: 'Done' },
  { type: 'function_call_output', call_id: 'c2', output: 'Empty' },
];
const NATIVE = [
  { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c1', name: 'ApplyPatch', input: PATCH },
  RETURNED[1],
  { type: 'custom_tool_call_output', call_id: 'c1', output: 'Done' },
  RETURNED[3],
];
const TOLD = [
  { role: 'assistant', content: null, tool_calls: CALLS },
  { role: 'tool', tool_call_id: 'c1', content: 'Done' },
  { role: 'tool', tool_call_id: 'c2', content: 'Empty' },
];

describe.each([
  ['input', { ...CURSOR, input: INPUT }, { ...CURSOR, input: [...INPUT, ...RETURNED] }],
  ['input with custom calls', { ...CURSOR, input: INPUT }, { ...CURSOR, input: [...INPUT, ...NATIVE] }],
  [
    'input and no messages',
    { ...CURSOR, messages: [], input: INPUT },
    { ...CURSOR, input: [...INPUT, ...RETURNED] },
  ],
  ['messages', { ...CURSOR, messages: MESSAGES }, { ...CURSOR, messages: [...MESSAGES, ...TOLD] }],
])('a body with %s', (_, first, second) => {
  it('is answered as a chat, through a round of tools', async () => {
    proxy.use(edits);
    const begun = await streamed(first);
    expect(begun).toMatchObject({ content: '', calls: CALLS, usage: { total_tokens: expect.any(Number) } });
    expect(sent()).toMatchObject({
      model: 'gpt-5.5',
      reasoning: { effort: 'medium', summary: 'auto' },
      tools: [
        TOOLS[0],
        TOOLS[1],
        { type: 'function', name: 'Shell', description: 'Runs.', parameters: PARAMETERS, strict: false },
      ],
    });
    const whole = await ask(first);
    expect(whole).toMatchObject({
      object: 'chat.completion',
      choices: [{ finish_reason: 'tool_calls', message: { tool_calls: CALLS } }],
    });
    expect(await streamed(second)).toMatchObject({ content: 'Done and Empty', calls: [] });
    expect(itemsOf(sent()).slice(-4)).toMatchObject([
      { type: 'custom_tool_call', call_id: 'c1', name: 'ApplyPatch', input: PATCH },
      { type: 'function_call', call_id: 'c2' },
      { type: 'custom_tool_call_output', call_id: 'c1' },
      { type: 'function_call_output', call_id: 'c2' },
    ]);
    // An id with the prefix of another item type.
    expect(itemsOf(sent()).some(({ id }) => id === 'fc_1')).toBe(false);
  });
});

it('names ignored parameters as the body does', async () => {
  proxy.use(reasoningThenText);
  const { choices } = await ask({
    ...CURSOR,
    stream_options: undefined,
    input: INPUT,
    store: true,
    extra: 1,
  });
  expect(choices[0]?.message).toMatchObject({ reasoning: expect.stringContaining('Looking') });
  expect(client.lastHeader('x-proxy-ignored-params')).toBe(
    'extra, store, include.reasoning.encrypted_content',
  );
});

it('accepts a text as input, and a schema in its own form', async () => {
  proxy.use(hello);
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const format = { type: 'json_schema', name: 'answer', schema, strict: true };
  const { choices } = await ask({ model: 'gpt-5.5', input: 'hi', text: { format } });
  expect(choices[0]?.message.content).toBe(HELLO);
  expect(sent()['text']).toMatchObject({ format });
});

describe('errors name parameters as the body does', () => {
  it.each([
    [{ input: 'hi', messages: MESSAGES }, 'invalid_value', 'input'],
    [{ input: [] }, 'empty_array', 'input'],
    [{ input: [...MESSAGES, { type: 'compaction_trigger' }] }, 'unsupported_value', 'input'],
    [{ input: [{ role: 'robot', content: 'x' }] }, 'invalid_value', 'input[0].role'],
    [{ input: 'hi', previous_response_id: 'resp_1' }, 'unsupported_parameter', 'previous_response_id'],
    [{ input: 'hi', max_tokens: 5 }, 'unsupported_parameter', 'max_tokens'],
    [
      { input: 'hi', stream_options: { include_usage: 'yes' } },
      'invalid_type',
      'stream_options.include_usage',
    ],
    [{ input: 'hi', tools: [{ type: 'shell' }] }, 'unsupported_tool', 'tools[0]'],
    [{ input: 'hi', tools: [{ type: 'function', name: 'a b' }] }, 'invalid_value', 'tools[0].name'],
    [
      { input: 'hi', tools: [{ type: 'function', function: { name: 'a b' } }] },
      'invalid_value',
      'tools[0].function.name',
    ],
    [{ messages: MESSAGES, tools: [TOOLS[2], TOOLS[0], TOOLS[0]] }, 'invalid_value', 'tools[2].name'],
    [{ messages: MESSAGES, tools: [{ type: 'custom' }] }, 'missing_required_parameter', 'tools[0].custom'],
    [
      { messages: MESSAGES, tools: TOOLS, tool_choice: { type: 'function', name: 'Unknown' } },
      'invalid_value',
      'tool_choice.name',
    ],
    [
      { input: 'hi', text: { format: { type: 'json_schema', name: 'a', schema: { type: 'nothing' } } } },
      'invalid_json_schema',
      'text.format.schema',
    ],
  ])('%j', async (some, code, param) => {
    const response = await proxy.post('/v1/chat/completions', { model: 'gpt-5.5', ...some });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code, param } }]);
  });
});
