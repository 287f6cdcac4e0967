import { describe, expect, it } from 'vitest';
import type { FunctionTool, ResponseInputItem } from 'openai/resources/responses/responses';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openSocket } from '../support/client-socket.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { hello, inTurn, parallelCalls, says, toolCall } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

const { proxy, client } = await openChecked(hello);

const WEATHER: FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const QUESTION = { role: 'user', content: 'What is the weather?' } as const;

describe('a function call', () => {
  it('is returned as an item, its output is sent with the next request, and the model answers', async () => {
    proxy.use(inTurn(toolCall(), says([{ text: 'It rains in Paris.' }])));
    const first = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [WEATHER],
    });
    expect(first.output).toEqual([
      {
        id: expect.stringMatching(/^fc_/),
        type: 'function_call',
        status: 'completed',
        call_id: 'call_weather',
        name: 'get_weather',
        arguments: '{"city":"Paris"}',
      },
    ]);
    const input: ResponseInputItem[] = [
      QUESTION,
      ...(first.output as ResponseInputItem[]),
      { type: 'function_call_output', call_id: 'call_weather', output: '{"sky":"rain"}' },
    ];
    const second = await client.openai.responses.create({ model: 'gpt-5.5', input, tools: [WEATHER] });
    expect(second.output_text).toBe('It rains in Paris.');
    expect(sentItems(proxy.model)).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is the weather?' }] },
      {
        type: 'function_call',
        call_id: 'call_weather',
        name: 'get_weather',
        arguments: '{"city":"Paris"}',
      },
      { type: 'function_call_output', call_id: 'call_weather', output: '{"sky":"rain"}' },
    ]);
  });

  it('is streamed as added without arguments, then deltas, then done', async () => {
    proxy.use(toolCall());
    const stream = client.openai.responses.stream({ model: 'gpt-5.5', input: [QUESTION], tools: [WEATHER] });
    const final = await stream.finalResponse();
    const call = final.output[0];
    const events = (await client.lastEvents()).filter((event) => event['output_index'] === 0);
    const deltas = events.filter((event) => event['type'] === 'response.function_call_arguments.delta');
    expect(deltas.map((event) => event['delta']).join('')).toBe('{"city":"Paris"}');
    expect(events.filter((event) => !deltas.includes(event))).toMatchObject([
      {
        type: 'response.output_item.added',
        item: { type: 'function_call', status: 'in_progress', arguments: '', call_id: 'call_weather' },
      },
      {
        type: 'response.function_call_arguments.done',
        item_id: call?.id,
        name: 'get_weather',
        arguments: '{"city":"Paris"}',
      },
      { type: 'response.output_item.done', item: { status: 'completed', arguments: '{"city":"Paris"}' } },
    ]);
    expect(call).toMatchObject({ type: 'function_call', parsed_arguments: null });
  });

  it('ends the answer, with the usage of the response that called', async () => {
    proxy.use(
      says([{ call: { name: 'get_weather', arguments: {}, callId: 'call_1' } }], {
        usage: {
          inputTokens: 5,
          cachedInputTokens: 1,
          cacheWriteInputTokens: 0,
          outputTokens: 4,
          reasoningTokens: 2,
          totalTokens: 9,
        },
      }),
    );
    const before = proxy.model.requests.length;
    const { status, usage } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [WEATHER],
    });
    expect({ status, usage, modelCalls: proxy.model.requests.length - before }).toEqual({
      status: 'completed',
      usage: {
        input_tokens: 5,
        input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
        output_tokens: 4,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 9,
      },
      modelCalls: 1,
    });
  });

  it.each(['gpt-5.5', 'gpt-6.1-sol', 'a-model-nobody-knows'])('works with %s', async (model) => {
    proxy.use(toolCall());
    const { output } = await client.openai.responses.create({ model, input: [QUESTION], tools: [WEATHER] });
    expect(output).toMatchObject([{ type: 'function_call', name: 'get_weather' }]);
  });

  it('keeps the argument string byte for byte, in both directions', async () => {
    const raw = '{ "city" : "Par\\u00eds",\n"n":1.50 }';
    proxy.use(inTurn(toolCall('get_weather', raw), hello));
    const ask = { model: 'gpt-5.5', tools: [WEATHER] };
    const first = await client.openai.responses.create({ ...ask, input: [QUESTION] });
    expect(first.output[0]).toMatchObject({ arguments: raw });
    await client.openai.responses.create({
      ...ask,
      input: [
        QUESTION,
        ...(first.output as ResponseInputItem[]),
        { type: 'function_call_output', call_id: 'call_weather', output: 'ok' },
      ],
    });
    expect(sentItems(proxy.model)).toMatchObject([{}, { type: 'function_call', arguments: raw }, {}]);
  });
});

describe('text before a call', () => {
  it('is the message, followed by the call', async () => {
    proxy.use(
      says([
        { text: 'I will look.', phase: 'commentary' },
        { call: { name: 'get_weather', arguments: {}, callId: 'call_1' } },
      ]),
    );
    const { output } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [WEATHER],
    });
    expect(output).toMatchObject([
      { type: 'message', phase: 'commentary', content: [{ text: 'I will look.' }] },
      { type: 'function_call', call_id: 'call_1' },
    ]);
  });
});

describe('parallel calls', () => {
  it('are returned in the order in which the model made them', async () => {
    proxy.use(parallelCalls);
    const { output } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [WEATHER],
    });
    expect(output).toMatchObject([
      { type: 'function_call', call_id: 'call_paris', arguments: '{"city":"Paris"}' },
      { type: 'function_call', call_id: 'call_oslo', arguments: '{"city":"Oslo"}' },
    ]);
  });

  it('accept their outputs in any order', async () => {
    proxy.use(hello);
    const { output_text } = await client.openai.responses.create({
      model: 'gpt-5.5',
      tools: [WEATHER],
      input: [
        QUESTION,
        { type: 'function_call', call_id: 'a', name: 'get_weather', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'get_weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'b', output: '2' },
        { type: 'function_call_output', call_id: 'a', output: '1' },
      ],
    });
    expect(output_text).toBe('Hello from the scripted model.');
    expect(sentItems(proxy.model)).toMatchObject([
      { role: 'user' },
      { call_id: 'a' },
      { call_id: 'b' },
      { call_id: 'b', output: '2' },
      { call_id: 'a', output: '1' },
    ]);
  });

  it('are limited to one if the client wants only one', async () => {
    proxy.use(parallelCalls);
    const { output } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [WEATHER],
      parallel_tool_calls: false,
    });
    expect(output).toMatchObject([{ call_id: 'call_paris' }]);
    expect(output).toHaveLength(1);
  });
});

describe('an undeclared tool call', () => {
  it('is never returned: the model gets an error and answers', async () => {
    proxy.use(inTurn(toolCall('no_such_tool'), says([{ text: 'Then without.' }])));
    const response = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [WEATHER],
    });
    expect([response.output_text, response.output.length]).toEqual(['Then without.', 1]);
  });
});

describe('an output that no call asked for', () => {
  const PLAN = {
    type: 'function_call_output',
    name: 'plan',
    namespace: 'editor',
    output: 'Approved.',
  } as const;
  const HISTORY = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is the weather?' }] },
    PLAN,
  ];
  const wireOff = freshProxies();

  it('reaches the model with the name of its tool', async () => {
    const input = [QUESTION, { call_id: null, ...PLAN }];
    const answered = await proxy.post('/v1/responses', { model: 'gpt-5.5', input });
    expect([answered.status, answered.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    expect(sentItems(proxy.model)).toEqual(HISTORY);
  });

  it('reaches the model without the relay', async () => {
    const at = await wireOff(hello, { PROXY_WIRE: 'off' });
    const answered = await at.post('/v1/responses', { model: 'gpt-5.5', input: [QUESTION, PLAN] });
    expect([answered.status, answered.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    expect(sentItems(at.model)).toEqual(HISTORY);
  });

  it('is stored, listed and sent again', async () => {
    const answered = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: [QUESTION, PLAN] });
    const { id } = (await answered.json()) as { readonly id: string };
    const listed = (await (await proxy.get(`/v1/responses/${id}/input_items`)).json()) as {
      readonly data: readonly JsonObject[];
    };
    expect(listed.data[0]).toEqual({ id: expect.stringMatching(/^fco_/), status: 'completed', ...PLAN });
    await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'And now?', previous_response_id: id });
    expect(sentItems(proxy.model).slice(0, 2)).toEqual(HISTORY);
  });

  it('is accepted by a WebSocket', async () => {
    const socket = await openSocket(proxy);
    const ended = await socket.create({ model: 'gpt-5.5', input: [QUESTION, PLAN] });
    socket.ws.close();
    expect(ended).toMatchObject({ type: 'response.completed' });
    expect(sentItems(proxy.model)).toEqual(HISTORY);
  });

  it.each([
    [{ name: undefined }, "Missing required parameter: 'input[1].call_id'."],
    [{ type: 'custom_tool_call_output' }, "Missing required parameter: 'input[1].call_id'."],
    [{ call_id: 'call_1' }, 'No tool call found for function call output with call_id call_1.'],
  ])('is rejected if it does not say where it is from: %j', async (change, message) => {
    const input = [QUESTION, { ...PLAN, ...change }];
    const answered = await proxy.post('/v1/responses', { model: 'gpt-5.5', input });
    expect(answered.status).toBe(400);
    expect(await answered.json()).toMatchObject({ error: { message } });
  });
});
