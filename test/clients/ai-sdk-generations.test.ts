import * as openai7 from '@ai-sdk/openai';
import * as ai7 from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { openLocked, skipPackages } from '../support/locked-packages.ts';
import { openProxy } from '../support/open-proxy.ts';
import { says } from '../support/scripts.ts';
import {
  ANSWER,
  itemsOf,
  keepsThought,
  looksThenSaysJson,
  QUESTION,
  threeRounds,
  weatherIn,
} from './rounds.ts';

/**
 * Tool loops of the Vercel AI SDK 5, 6 and 7 with default options. They leave `store` at its default, so the
 * next request refers to items of the previous answer by id.
 */

interface AiSdk {
  readonly ai: typeof ai7;
  readonly openai: typeof openai7;
  /** The option for an object as the last answer; version 5 has another name for it. */
  readonly outputAs: 'output' | 'experimental_output';
}

/** With the types of version 7: what is used here is the same in all of them. */
const openSdk = async (version: 5 | 6): Promise<AiSdk | null> => {
  const load = await openLocked(`test/clients/ai-sdk-${version}`);
  if (load === null) return null;
  const ai = load('ai') as typeof ai7 & { readonly stepCountIs: typeof ai7.isStepCount };
  return {
    ai: { ...ai, isStepCount: ai.stepCountIs },
    openai: load('@ai-sdk/openai') as typeof openai7,
    outputAs: version === 5 ? 'experimental_output' : 'output',
  };
};

/** `generateObject` is deprecated in version 7 but still used. */
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const proxy = await openProxy(threeRounds);

const suite = ({ ai, openai, outputAs }: AiSdk): void => {
  const provider = openai.createOpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });
  const tools = {
    get_weather: ai.tool({
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => weatherIn(city),
    }),
  };

  describe.each(['codex-5', 'gpt-5.5', 'gpt-6.1-sol'])('with %s', (name) => {
    const ask = { model: provider(name), tools, stopWhen: ai.isStepCount(5), maxRetries: 0 };

    it('a tool loop ends with text as JSON, and so does the next question', async () => {
      proxy.use(threeRounds);
      const before = proxy.model.requests.length;
      const result = await ai.generateText({ ...ask, prompt: QUESTION });
      const { text, steps } = result;
      // Version 7 has them here, and those of the last step in `response`.
      const said = (result as Partial<typeof result>).responseMessages ?? result.response.messages;
      expect(text).toBe(ANSWER);
      expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
      expect(keepsThought(proxy.model.requests.slice(before).map(({ body }) => body))).toBe(true);
      proxy.use(countsItems);
      const next = await ai.generateText({
        ...ask,
        messages: [{ role: 'user', content: QUESTION }, ...said, { role: 'user', content: 'How many?' }],
      });
      // Three calls with their outputs, the reasoning before the first, the answer, and two questions.
      expect(next.text).toBe('10');
    });

    it('a tool loop ends with text as a stream', async () => {
      proxy.use(threeRounds);
      const { text, steps } = ai.streamText({ ...ask, prompt: QUESTION });
      expect(await text).toBe(ANSWER);
      expect((await steps).map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
    });

    it('a tool loop ends with text if every answer begins with an empty message', async () => {
      proxy.use(threeRounds);
      const headers = { 'x-proxy-output-layout': 'message-first' };
      const { text } = await ai.generateText({ ...ask, prompt: QUESTION, headers });
      expect(text).toBe(ANSWER);
    });

    it('a tool loop ends with an object', async () => {
      proxy.use(looksThenSaysJson);
      const output = ai.Output.object({ schema: z.object({ weather: z.string() }) });
      const result = await ai.generateText({ ...ask, prompt: QUESTION, [outputAs]: output });
      expect(result[outputAs as 'output']).toEqual({ weather: 'Paris: rain' });
    });

    it('an object works without tools', async () => {
      proxy.use(says([{ reasoning: { summary: [] } }, { text: '{"weather":"rain"}' }]));
      const { object } = await ai.generateObject({
        model: ask.model,
        maxRetries: 0,
        prompt: QUESTION,
        schema: z.object({ weather: z.string() }),
      });
      expect(object).toEqual({ weather: 'rain' });
    });
  });
};

const countsItems: Script = ({ body }, connection) =>
  answer(connection, [{ text: String(itemsOf(body).length) }]);

for (const [version, sdk] of [
  [5, await openSdk(5)],
  [6, await openSdk(6)],
  [7, { ai: ai7, openai: openai7, outputAs: 'output' }],
] as const) {
  describe(`Vercel AI SDK ${version}`, () => {
    if (sdk === null) skipPackages(`test/clients/ai-sdk-${version}`);
    else suite(sdk);
  });
}
