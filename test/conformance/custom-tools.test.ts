import { describe, expect, it } from 'vitest';
import type { ResponseCreateParamsStreaming, Tool } from 'openai/resources/responses/responses';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { named, askBoth } from '../relay/ask-both.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

const { proxy, client } = await openChecked(hello);

const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "a"+ | /\\w "x"/' } as const;
const PATCH: Tool = { type: 'custom', name: 'apply_patch', description: 'Edits files.', format: GRAMMAR };
const NOTE: Tool = { type: 'custom', name: 'note' };
const WEATHER: Tool = {
  type: 'function',
  name: 'get_weather',
  strict: false,
  parameters: { type: 'object' },
};
const ASK = { model: 'gpt-5.5', input: 'hi', tools: [PATCH, NOTE, WEATHER] };

/** Must not be parsed, escaped or trimmed. */
const INPUT = '*** Begin Patch\n "a\\u0041" \\ {"input":"x"}\t😀\u2028\n';
const DELTAS = ['*** Begin', ' Patch\n "a\\u00', '41" \\ {"inp', 'ut":"x"}\t😀\u2028', '\n'];
const custom = (callId: string, input: string, name = 'apply_patch', deltas?: readonly string[]) => ({
  call: { tool: 'custom' as const, name, arguments: input, callId },
  ...(deltas === undefined ? {} : { deltas }),
});
const lastTools = (): unknown => proxy.model.requests.at(-1)?.body['tools'];
const lastChoice = (): unknown => proxy.model.requests.at(-1)?.body['tool_choice'];

describe('a custom tool', () => {
  it('reaches the model with its grammar, and its call is returned byte for byte', async () => {
    const before = proxy.model.requests.length;
    const script = says([custom('c1', INPUT, 'apply_patch', DELTAS)]);
    const { events, last, json } = await askBoth(proxy, client, script, ASK);
    expect(lastTools()).toEqual(ASK.tools);
    expect(named(events, 'response.custom_tool_call_input.delta').map(({ delta }) => delta)).toEqual(DELTAS);
    expect(named(events, 'response.custom_tool_call_input.done')).toMatchObject([{ input: INPUT }]);
    const call = { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: INPUT };
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([{ ...call, status: 'completed' }]);
      expect(response).toMatchObject({ status: 'completed', tools: [PATCH, { name: 'note' }, {}] });
    }
    expect(proxy.model.requests.length - before).toBe(2);
  });

  it('may be called with empty input, together with other tools and functions', async () => {
    const script = says([
      custom('c1', '', 'note'),
      { call: { name: 'get_weather', arguments: '{ "a" : 1 }', callId: 'c2' } },
      custom('c3', '{}', 'note'),
    ]);
    const { last, json } = await askBoth(proxy, client, script, ASK);
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([
        { type: 'custom_tool_call', call_id: 'c1', input: '' },
        { type: 'function_call', call_id: 'c2', arguments: '{ "a" : 1 }' },
        { type: 'custom_tool_call', call_id: 'c3', input: '{}' },
      ]);
    }
  });

  it('is called, answered, and part of the history', async () => {
    proxy.use(inTurn(says([custom('c1', INPUT)]), says([{ text: 'Done.' }])));
    const question = { role: 'user', content: 'Patch it.' };
    const first = await client.openai.responses.create({ ...ASK, input: [question] } as never);
    const answered = { type: 'custom_tool_call_output', call_id: 'c1', output: 'ok' };
    const second = await client.openai.responses.create({
      ...ASK,
      input: [question, ...(first as { output: unknown[] }).output, answered],
    } as never);
    expect((second as { output_text: string }).output_text).toBe('Done.');
    expect(sentItems(proxy.model).slice(1)).toEqual([
      { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: INPUT },
      answered,
    ]);
  });

  it.each([
    { type: 'custom', name: 'note' },
    { type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'note' }] },
  ])('can be chosen: $type', async (choice) => {
    proxy.use(says([custom('c1', 'x', 'note')]));
    await client.openai.responses.create({ ...ASK, tool_choice: choice } as never);
    expect(lastChoice()).toEqual(choice);
  });

  it('is answered inside the turn if it was not declared', async () => {
    const { last } = await askBoth(
      proxy,
      client,
      inTurn(says([custom('c1', 'x', 'other')]), hello, says([custom('c2', 'x', 'other')]), hello),
      ASK,
    );
    expect(JSON.stringify(last['output'])).toContain('Hello from the scripted model.');
  });

  it('is streamed as it is written', async () => {
    proxy.use(says([{ ...custom('c1', INPUT, 'apply_patch', DELTAS), end: 'open' }, { hang: true }]));
    const stream = await client.openai.responses.create({
      ...ASK,
      stream: true,
    } as ResponseCreateParamsStreaming);
    let written = '';
    for await (const event of stream) {
      if (event.type === 'response.custom_tool_call_input.delta') written += event.delta;
      // Leaving the loop aborts the request.
      if (written === INPUT) break;
    }
    expect(written).toBe(INPUT);
  });
});

describe('a custom tool is rejected', () => {
  it.each([
    ['format.type', { format: { type: 'xml' } }, 'invalid_value'],
    ['format.type', { format: {} }, 'missing_required_parameter'],
    ['format', { format: 'text' }, 'invalid_type'],
    ['format.syntax', { format: { type: 'grammar', syntax: 'ebnf', definition: '' } }, 'invalid_value'],
    ['format.definition', { format: { type: 'grammar', syntax: 'lark' } }, 'missing_required_parameter'],
    ['name', { name: 'a b' }, 'invalid_value'],
  ])('for its %s: %j', async (param, different, code) => {
    const body = { ...ASK, tools: [WEATHER, { ...NOTE, ...different }] };
    const response = await proxy.post('/v1/responses', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: `tools[1].${param}`, code } });
  });
});

it('is echoed with all its fields', async () => {
  proxy.use(hello);
  const tools = [
    { ...NOTE, defer_loading: true },
    { ...WEATHER, defer_loading: true, made_up: { a: 1 } },
  ];
  const response = await proxy.post('/v1/responses', { ...ASK, tools });
  expect(((await response.json()) as { tools: JsonObject[] }).tools).toMatchObject(tools);
  expect(response.headers.get('x-proxy-ignored-params')).toBeNull();
  expect(lastTools()).toEqual(tools);
});
