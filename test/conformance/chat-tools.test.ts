import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';

import { hello, inTurn, parallelCalls, says, toolCall } from '../support/scripts.ts';
import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { openCheckedChat } from './chat-checked.ts';

/** OpenAI's own SDK calling tools through `/v1/chat/completions`, on the real app-server. */

const { proxy, client } = await openCheckedChat(hello);

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER: ChatCompletionTool = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather of a city.', parameters },
};
const QUESTION: ChatCompletionMessageParam = { role: 'user', content: 'What is the weather?' };
const ask = { model: 'gpt-5.5', messages: [QUESTION], tools: [WEATHER] };
const answer = says([{ text: 'It rains in Paris.' }]);

/** The model's input, without the ids that codex assigns to items. */
const sentInput = (): unknown => {
  const body: Readonly<Record<string, unknown>> = proxy.model.requests.at(-1)?.body ?? {};
  const withoutIds = JSON.stringify(body['input'], (key, value: unknown) =>
    key === 'id' ? undefined : value,
  );
  return JSON.parse(withoutIds) as unknown;
};

const CALL = {
  id: 'call_weather',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
};

describe('a tool call', () => {
  it('is returned as JSON and in chunks, with content null', async () => {
    proxy.use(toolCall());
    const whole = await client.openai.chat.completions.create(ask);
    expect(whole.choices[0]).toEqual({
      index: 0,
      message: { role: 'assistant', content: null, refusal: null, annotations: [], tool_calls: [CALL] },
      logprobs: null,
      finish_reason: 'tool_calls',
    });
    const streamed = await client.openai.chat.completions.stream(ask).finalChatCompletion();
    const [choice] = streamed.choices;
    expect([choice?.finish_reason, choice?.message.content]).toEqual(['tool_calls', null]);
    expect(choice?.message.tool_calls).toEqual([CALL]);
  });

  it('is sent back with its output as the same items that the model made', async () => {
    proxy.use(inTurn(toolCall(), answer));
    const first = await client.openai.chat.completions.create(ask);
    const message = first.choices[0]?.message;
    if (message === undefined) throw new Error('no choice');
    const output: ChatCompletionMessageParam = {
      role: 'tool',
      tool_call_id: 'call_weather',
      content: 'rain',
    };
    const second = await client.openai.chat.completions.create({
      ...ask,
      messages: [QUESTION, message, output],
    });
    expect(second.choices[0]?.message.content).toBe('It rains in Paris.');
    expect(sentInput()).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'What is the weather?' }],
      },
      {
        type: 'function_call',
        call_id: 'call_weather',
        name: 'get_weather',
        arguments: '{"city":"Paris"}',
      },
      { type: 'function_call_output', call_id: 'call_weather', output: 'rain' },
    ]);
  });

  it('can be limited to one', async () => {
    proxy.use(parallelCalls);
    const { choices } = await client.openai.chat.completions.create({ ...ask, parallel_tool_calls: false });
    expect(choices[0]?.message.tool_calls?.map((call) => call.id)).toEqual(['call_paris']);
  });

  it('supports the legacy function form', async () => {
    proxy.use(toolCall());
    const functions = [{ name: 'get_weather', parameters }];
    const older = { model: 'gpt-5.5', messages: [QUESTION], functions };
    const whole = await client.openai.chat.completions.create(older);
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { content: null, function_call: CALL.function },
    });
    const streamed = await client.openai.chat.completions.stream(older).finalChatCompletion();
    expect(streamed.choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { content: null, function_call: CALL.function },
    });
    proxy.use(answer);
    await client.openai.chat.completions.create({
      ...older,
      messages: [
        QUESTION,
        { role: 'assistant', content: null, function_call: CALL.function },
        { role: 'function', name: 'get_weather', content: 'rain' },
      ],
    });
    expect(sentInput()).toMatchObject([
      { role: 'user' },
      { type: 'function_call', call_id: 'call_legacy_1', arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', call_id: 'call_legacy_1', output: 'rain' },
    ]);
  });
});

describe('runTools', () => {
  const round = (city: string, callId: string) =>
    says([{ call: { name: 'get_weather', arguments: { city }, callId } }]);

  const runner = (called: string[], stream: boolean) => {
    const tool = {
      type: 'function' as const,
      function: {
        name: 'get_weather',
        description: 'The weather of a city.',
        parameters,
        parse: (text: string) => JSON.parse(text) as { city: string },
        function({ city }: { city: string }): string {
          called.push(city);
          return `rain in ${city}`;
        },
      },
    };
    const { model, messages } = ask;
    return stream
      ? client.openai.chat.completions.runTools({ model, messages, tools: [tool], stream: true })
      : client.openai.chat.completions.runTools({ model, messages, tools: [tool] });
  };

  it.each([false, true])('runs several rounds (stream: %s)', async (stream) => {
    proxy.use(inTurn(round('Paris', 'call_1'), round('Oslo', 'call_2'), answer));
    const called: string[] = [];
    const content = await runner(called, stream).finalContent();
    expect([called, content]).toEqual([['Paris', 'Oslo'], 'It rains in Paris.']);
    expect(sentInput()).toMatchObject([
      { role: 'user' },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1', output: 'rain in Paris' },
      { type: 'function_call', call_id: 'call_2' },
      { type: 'function_call_output', call_id: 'call_2', output: 'rain in Oslo' },
    ]);
  });

  it.each([false, true])('answers parallel calls (stream: %s)', async (stream) => {
    proxy.use(inTurn(parallelCalls, answer));
    const called: string[] = [];
    const content = await runner(called, stream).finalContent();
    expect([called.toSorted(), content]).toEqual([['Oslo', 'Paris'], 'It rains in Paris.']);
  });
});

describe('a web search', () => {
  const citation = { url: 'https://example.org/', title: 'T', start_index: 0, end_index: 4 };
  const found = says([
    hostedStep(HOSTED_ITEMS['web search']),
    { text: 'Rain.', annotations: [{ type: 'url_citation', ...citation }] },
  ]);
  const annotations = [{ type: 'url_citation', url_citation: citation }];

  it.each([
    ['its own field', { web_search_options: { search_context_size: 'low' } as const }],
    [
      'a tool',
      { tools: [{ type: 'web_search', search_context_size: 'low' } as unknown as ChatCompletionTool] },
    ],
  ])('is requested by %s, and its results are cited', async (_, how) => {
    proxy.use(found);
    const request = { model: 'gpt-5.5', messages: [QUESTION], ...how };
    const whole = await client.openai.chat.completions.create(request);
    expect(whole.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'Rain.', refusal: null, annotations },
        logprobs: null,
        finish_reason: 'stop',
      },
    ]);
    expect(proxy.model.requests.at(-1)?.body['tools']).toEqual([
      { type: 'web_search', search_context_size: 'low' },
    ]);
    const streamed = await client.openai.chat.completions.stream(request).finalChatCompletion();
    expect(streamed.choices[0]?.message).toMatchObject({ content: 'Rain.' });
    const deltas = (await client.lastChunks()).flatMap(({ choices }) => choices as { delta: object }[]);
    expect(deltas.map(({ delta }) => delta)).toContainEqual({ annotations });
  });

  it('may be sent back in the message, and does not reach the model', async () => {
    proxy.use(inTurn(found, answer));
    const first = await client.openai.chat.completions.create({
      ...ask,
      tools: [WEATHER],
      web_search_options: {},
    });
    const message = first.choices[0]?.message as ChatCompletionMessageParam;
    await client.openai.chat.completions.create({ ...ask, messages: [QUESTION, message, QUESTION] });
    expect(client.lastHeader('x-proxy-ignored-params')).toBeNull();
  });
});
