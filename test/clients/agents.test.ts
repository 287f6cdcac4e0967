import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  tool,
  webSearchTool,
} from '@openai/agents';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { startProxy } from '../support/proxy.ts';
import { FOUND, searches } from './hosted.ts';
import { ANSWER, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** OpenAI's Agents SDK, over the real app-server. */

const proxy = await startProxy(threeRounds);
afterAll(() => proxy.close());
const runner = new Runner({ tracingDisabled: true });

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => weatherIn(city),
});

const MODELS = {
  responses: () => new OpenAIResponsesModel(proxy.openai, 'gpt-5.5'),
  chat: () => new OpenAIChatCompletionsModel(proxy.openai, 'gpt-5.5'),
};

describe.each(['responses', 'chat'] as const)('%s', (api) => {
  const agent = new Agent({
    name: 'weather',
    instructions: 'Be brief.',
    model: MODELS[api](),
    tools: [getWeather],
  });

  it('comes to its end by JSON', async () => {
    expect((await runner.run(agent, QUESTION)).finalOutput).toBe(ANSWER);
  });

  it('comes to its end by a stream', async () => {
    const run = await runner.run(agent, QUESTION, { stream: true });
    await run.completed;
    expect(run.finalOutput).toBe(ANSWER);
  });
});

it('lets the backend search, and sees that it did', async () => {
  proxy.use(searches);
  const agent = new Agent({ name: 'reader', model: MODELS.responses(), tools: [webSearchTool()] });
  const run = await runner.run(agent, QUESTION);
  expect(run.finalOutput).toBe(FOUND);
  expect(run.newItems.map(({ type }) => type)).toEqual(['tool_call_item', 'message_output_item']);
});
