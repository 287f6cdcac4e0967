import { createAnthropic } from '@ai-sdk/anthropic';
import { generateObject, generateText, isStepCount, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { watch } from './claude-session.ts';
import { ANSWER, itemsOf, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** Vercel's AI SDK over the Messages API, with the real app-server. */

const proxy = await openProxy(hello);
const provider = createAnthropic({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });

/** It knows the first name, and sends other requests for names that it does not know. */
const MODELS = ['claude-opus-5-5', 'gpt-5.5'];

const tools = {
  get_weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => weatherIn(city),
  }),
};

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(MODELS)('the AI SDK with %s', (name) => {
  const model = provider(name);
  const ask = { model, prompt: QUESTION, tools, stopWhen: isStepCount(5), maxRetries: 0 };

  it('completes a loop of tools as JSON, with its reasoning', async () => {
    const sent = watch(proxy, threeRounds);
    const { text, steps } = await generateText(ask);
    expect(text).toBe(ANSWER);
    expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
    expect(steps[0]?.finishReason).toBe('tool-calls');
    expect(sent()).toHaveLength(3);
    expect(keepsThought(sent())).toBe(true);
  });

  it('completes a loop of tools as a stream, with its reasoning', async () => {
    const sent = watch(proxy, threeRounds);
    const { text, steps } = streamText(ask);
    expect(await text).toBe(ANSWER);
    expect((await steps).map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
    expect(keepsThought(sent())).toBe(true);
  });

  it('returns an object', async () => {
    const sent = watch(proxy, (request, connection) => {
      const isTool = JSON.stringify(request.body['tools'] ?? []).includes('"json"');
      const object = { colour: 'red' };
      const step = isTool
        ? { call: { name: 'json', arguments: object, callId: 'call_json' } }
        : { text: JSON.stringify(object) };
      return says([step])(request, connection);
    });
    const schema = z.object({ colour: z.string() });
    const { object } = await generateObject({ model, prompt: 'Which colour?', schema, maxRetries: 0 });
    expect(object).toEqual({ colour: 'red' });
    expect(sent()).toHaveLength(1);
  });
});

const model = provider('claude-opus-5-5');

it('shows reasoning as it is written', async () => {
  watch(proxy, says([{ reasoning: { summary: ['Look.', 'Ask.'], encrypted: 'sealed' } }, { text: 'Rain.' }]));
  const providerOptions = { anthropic: { thinking: { type: 'adaptive', display: 'summarized' } } };
  const { reasoningText, text, usage } = streamText({
    model,
    prompt: QUESTION,
    providerOptions,
    maxRetries: 0,
  });
  expect([await text, await reasoningText]).toEqual(['Rain.', 'Look.\n\nAsk.']);
  expect((await usage).outputTokens).toBeGreaterThan(0);
});

it('shows the model an image', async () => {
  const sent = watch(proxy, hello);
  const { text } = await generateText({
    model,
    maxRetries: 0,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'file', mediaType: 'image/png', data: PIXEL },
        ],
      },
    ],
  });
  expect(text).toBe('Hello from the scripted model.');
  expect(itemsOf(sent()[0] ?? {})).toMatchObject([
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is this?' },
        { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` },
      ],
    },
  ]);
});

it('tries again when the backend is full', async () => {
  const full = says([{ fail: { code: 'server_is_overloaded', message: 'Too many users.' } }]);
  const sent = watch(proxy, inTurn(full, hello));
  const { text } = await generateText({ model, prompt: 'Hello?', maxRetries: 1 });
  expect([text, sent().length]).toEqual(['Hello from the scripted model.', 2]);
});
