import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { startProxy } from '../support/proxy.ts';
import { FOUND, searches, SOURCE } from './hosted.ts';
import { ANSWER, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** Vercel's AI SDK in several steps, over the real app-server. */

const proxy = await startProxy(threeRounds);
afterAll(() => proxy.close());
const provider = createOpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });

const tools = {
  get_weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => weatherIn(city),
  }),
};

describe.each(['responses', 'chat'] as const)('%s', (api) => {
  const ask = { model: provider[api]('gpt-5.5'), prompt: QUESTION, tools, stopWhen: isStepCount(5) };

  it('comes to its end by JSON', async () => {
    const { text, steps } = await generateText(ask);
    expect(text).toBe(ANSWER);
    expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
    expect(keepsThought(proxy.model.requests.map(({ body }) => body))).toBe(true);
  });

  it('comes to its end by a stream', async () => {
    const { text, steps } = streamText(ask);
    expect(await text).toBe(ANSWER);
    expect((await steps).map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
  });
});

describe('a search that the backend runs', () => {
  const ask = {
    model: provider.responses('gpt-5.5'),
    prompt: QUESTION,
    tools: { web_search: provider.tools.webSearch({ searchContextSize: 'low' }) },
  };

  it('comes with its sources, by JSON and by a stream', async () => {
    proxy.use(searches);
    const whole = await generateText(ask);
    const streamed = streamText(ask);
    for (const [text, sources, calls] of [
      [whole.text, whole.sources, whole.toolCalls],
      [await streamed.text, await streamed.sources, await streamed.toolCalls],
    ] as const) {
      expect(text).toBe(FOUND);
      expect(sources).toMatchObject([{ sourceType: 'url', url: SOURCE }]);
      expect(calls).toMatchObject([{ toolName: 'web_search', providerExecuted: true }]);
    }
    expect(proxy.model.requests.at(-1)?.body['tools']).toEqual([
      { type: 'web_search', search_context_size: 'low' },
    ]);
  });
});
