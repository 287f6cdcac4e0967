import { AIMessageChunk, HumanMessage, type BaseMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { startProxy } from '../support/proxy.ts';
import { ANSWER, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** LangChain, over the real app-server. */

const proxy = await startProxy(threeRounds);
afterAll(() => proxy.close());

const getWeather = tool(({ city }: { city: string }) => weatherIn(city), {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});

describe.each([
  ['responses', true],
  ['chat', false],
] as const)('%s', (_, useResponsesApi) => {
  const model = new ChatOpenAI({
    model: 'gpt-5.5',
    apiKey: proxy.key,
    useResponsesApi,
    maxRetries: 0,
    configuration: { baseURL: `${proxy.url}/v1` },
  }).bindTools([getWeather]);

  const streamed = async (messages: readonly BaseMessage[]): Promise<AIMessageChunk> => {
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await model.stream([...messages])) whole = whole?.concat(chunk) ?? chunk;
    return whole ?? new AIMessageChunk('');
  };

  it.each([false, true])('comes to its end (stream: %s)', async (stream) => {
    const messages: BaseMessage[] = [new HumanMessage(QUESTION)];
    for (;;) {
      const said = stream ? await streamed(messages) : await model.invoke([...messages]);
      messages.push(said);
      if ((said.tool_calls ?? []).length === 0) break;
      for (const call of said.tool_calls ?? []) {
        messages.push(await getWeather.invoke({ ...call, type: 'tool_call' }));
      }
    }
    expect(messages.at(-1)?.text).toBe(ANSWER);
    expect(messages).toHaveLength(7);
  });
});
