import type { ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';

import { startProxy } from '../support/proxy.ts';
import { ANSWER, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** Loops of OpenAI's own SDK, over the real app-server. */

const proxy = await startProxy(threeRounds);
afterAll(() => proxy.close());
const { openai } = proxy;

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const sent = () => proxy.model.requests.map(({ body }) => body);

describe('runTools', () => {
  const ask = {
    model: 'gpt-5.5',
    messages: [{ role: 'user' as const, content: QUESTION }],
    tools: [
      {
        type: 'function' as const,
        function: {
          name: 'get_weather',
          description: 'The weather of a city.',
          parameters,
          parse: JSON.parse,
          function: ({ city }: { city: string }) => weatherIn(city),
        },
      },
    ],
  };

  it('comes to its end by JSON and by streams', async () => {
    expect(await openai.chat.completions.runTools(ask).finalContent()).toBe(ANSWER);
    expect(await openai.chat.completions.runTools({ ...ask, stream: true }).finalContent()).toBe(ANSWER);
    expect(keepsThought(sent())).toBe(true);
  });
});

describe('a loop over responses', () => {
  const tools: Tool[] = [{ type: 'function', name: 'get_weather', parameters, strict: false }];

  const loop = async (stream: boolean): Promise<string> => {
    const input: ResponseInputItem[] = [{ role: 'user', content: QUESTION }];
    for (;;) {
      const ask = { model: 'gpt-5.5', input, tools, store: false };
      const response = stream
        ? await openai.responses.stream(ask).finalResponse()
        : await openai.responses.create(ask);
      const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      if (calls.length === 0) return response.output_text;
      input.push(...(response.output as ResponseInputItem[]));
      // The last one first: outputs may come in any order.
      for (const call of calls.toReversed()) {
        const { city } = JSON.parse(call.arguments) as { city: string };
        input.push({ type: 'function_call_output', call_id: call.call_id, output: weatherIn(city) });
      }
    }
  };

  it.each([false, true])('comes to its end (stream: %s)', async (stream) => {
    expect(await loop(stream)).toBe(ANSWER);
  });
});
