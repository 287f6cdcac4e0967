import { describe, expect, it } from 'vitest';

import { isJsonObject } from '../../src/kit/json/json.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, inTurn, parallelCalls, toolCall } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, outputText } from './proxy.ts';
import type { Answered, ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', minLength: 1 } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
const CLOCK = { type: 'function', name: 'clock', parameters: { type: 'object', properties: {} } };

/** Each has its own conversation: one that used another request format would keep it. */
let conversation = 0;
const ask = (more: JsonObject, model = 'gpt-6.1-sol'): Promise<Answered> => {
  conversation += 1;
  const input = `The weather in Paris, at ${String(conversation)} o’clock?`;
  return proxy.post('/v1/responses', { model, input, tools: [WEATHER, CLOCK], ...more });
};

const callsIn = ({ json }: Answered): readonly JsonObject[] =>
  (Array.isArray(json['output']) ? json['output'].filter(isJsonObject) : []).filter(
    ({ type }) => type === 'function_call',
  );

const formats = (): readonly string[] =>
  proxy.backend.modelRequests.map(({ requestFormat }) => requestFormat);

describe('tools', () => {
  it.each(['gpt-6.1-sol', 'gpt-5.5'])('of a client may have an output without a call: %s', async (model) => {
    proxy.backend.use(hello);
    const plan = { type: 'function_call_output', name: 'plan', namespace: 'editor', output: 'Approved.' };
    const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go.' }] }, plan];
    const answered = await ask({ input }, model);
    expect([answered.status, answered.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    expect(itemsSent(proxy.backend.modelRequests[0])).toEqual(input);
  });

  it.each([
    ['gpt-6.1-sol', 'codex'],
    ['gpt-5.5', 'responses'],
  ])(
    'are called on %s in the request format that codex uses, and their outputs come back',
    async (model, requestFormat) => {
      proxy.backend.use(inTurn(toolCall(), hello));
      const first = await ask({}, model);
      const [call = {}] = callsIn(first);
      expect([call['name'], call['arguments']]).toEqual(['get_weather', '{"city":"Paris"}']);
      const second = await ask(
        {
          input: [
            { role: 'user', content: 'The weather in Paris?' },
            ...(first.json['output'] as JsonObject[]),
            { type: 'function_call_output', call_id: call['call_id'], output: 'Sun.' },
          ],
        },
        model,
      );
      expect(outputText(second)).toBe('Hello from the scripted model.');
      expect(formats()).toEqual([requestFormat, requestFormat]);
      expect(itemsSent(proxy.backend.modelRequests[1]).map(({ type }) => type)).toEqual([
        'message',
        'function_call',
        'function_call_output',
      ]);
    },
  );

  it.each([
    ['one that is forced', { type: 'function', name: 'get_weather' }],
    ['any that is forced', 'required'],
    [
      'a narrowed choice',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'clock' }] },
    ],
  ])('%s uses the Responses format, as the client sent it', async (_, tool_choice) => {
    for (const stream of [false, true]) {
      const isNarrow = typeof tool_choice === 'object' && tool_choice.type === 'allowed_tools';
      proxy.backend.use(isNarrow ? toolCall('clock', {}) : toolCall());
      const answered = await ask({ tool_choice, stream });
      expect(answered.status).toBe(200);
      expect(callsIn(answered)).toHaveLength(1);
    }
    expect(formats()).toEqual(['responses', 'responses']);
    for (const { body } of proxy.backend.modelRequests) {
      expect(body['model']).toBe('gpt-6.1-sol');
      expect(body['tool_choice']).toEqual(tool_choice);
      expect(body['tools']).toMatchObject([{ name: 'get_weather' }, { name: 'clock' }]);
      expect(itemsSent({ body } as never)).toMatchObject([{ role: 'user' }]);
    }
  });

  it('that need not be called leave the request format to the model', async () => {
    for (const tool_choice of ['auto', 'none'])
      expect(outputText(await ask({ tool_choice }))).toBe('Hello from the scripted model.');
    expect(formats()[0]).toBe('codex');
  });

  it('several at once use the Responses format if the client asks for that', async () => {
    proxy.backend.use(parallelCalls);
    const answered = await ask({ parallel_tool_calls: true });
    expect(callsIn(answered).map((call) => call['call_id'])).toEqual(['call_paris', 'call_oslo']);
    expect(formats()).toEqual(['responses']);
    expect(proxy.backend.modelRequests[0]?.body['parallel_tool_calls']).toBe(true);
  });

  it("one after the other keep the model's request format", async () => {
    proxy.backend.use(toolCall());
    expect(callsIn(await ask({ parallel_tool_calls: false }))).toHaveLength(1);
    expect(callsIn(await ask({}))).toHaveLength(1);
    expect(formats()).toEqual(['codex', 'codex']);
  });

  it('can be forced by chat clients too', async () => {
    proxy.backend.use(toolCall());
    const { status, json } = await proxy.post('/v1/chat/completions', {
      model: 'gpt-6.1-sol',
      messages: [{ role: 'user', content: 'The weather in Paris?' }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: WEATHER.parameters } }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    });
    expect(status).toBe(200);
    expect(json['choices']).toMatchObject([{ finish_reason: 'tool_calls' }]);
    expect(formats()).toEqual(['responses']);
  });
});

describe('images', () => {
  const PIXEL =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
  const looking = (more: JsonObject): JsonObject => ({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: PIXEL, ...more },
        ],
      },
    ],
  });

  it.each([
    ['gpt-6.1-sol', {}, 'codex'],
    ['gpt-6.1-sol', { detail: 'auto' }, 'codex'],
    ['gpt-6.1-sol', { detail: 'high' }, 'responses'],
    ['gpt-6.1-sol', { detail: 'low' }, 'responses'],
    ['gpt-5.5', { detail: 'low' }, 'responses'],
    ['gpt-5.5', {}, 'responses'],
  ])('on %s with %j use the %s request format', async (model, more, requestFormat) => {
    const answered = await ask(looking(more), model);
    expect(outputText(answered)).toBe('Hello from the scripted model.');
    expect(formats()).toEqual([requestFormat]);
    const [item] = itemsSent(proxy.backend.modelRequests[0]);
    const wanted = requestFormat === 'responses' && 'detail' in more ? more : {};
    expect(item?.['content']).toMatchObject([
      { type: 'input_text' },
      { type: 'input_image', image_url: PIXEL, ...wanted },
    ]);
  });

  it('may be the output of a tool', async () => {
    const answered = await ask({
      input: [
        { role: 'user', content: 'Look outside.' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
        {
          type: 'function_call_output',
          call_id: 'call_1',
          output: [{ type: 'input_image', image_url: PIXEL }],
        },
      ],
    });
    expect(outputText(answered)).toBe('Hello from the scripted model.');
  });
});
