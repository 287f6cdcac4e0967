import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessageChunk, HumanMessage, type BaseMessage, type ToolMessage } from '@langchain/core/messages';
import type { ToolCall } from '@langchain/core/messages/tool';
import { tool } from '@langchain/core/tools';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { watch } from './claude-session.ts';
import { ANSWER, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** LangChain over the Messages API, with the real app-server. */

const proxy = await openProxy(hello);
const modelOf = (more: object = {}) =>
  new ChatAnthropic({
    model: 'claude-opus-5-5',
    apiKey: proxy.key,
    anthropicApiUrl: proxy.url,
    maxTokens: 1024,
    maxRetries: 0,
    ...more,
  });

const getWeather = tool(({ city }: { city: string }) => weatherIn(city), {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});
const weather = (call: ToolCall): Promise<ToolMessage> => getWeather.invoke({ ...call, type: 'tool_call' });

type Bound = ReturnType<ReturnType<typeof modelOf>['bindTools']>;

const ask = async (
  model: Bound,
  messages: readonly BaseMessage[],
  stream: boolean,
): Promise<AIMessageChunk> => {
  if (!stream) return model.invoke([...messages]);
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model.stream([...messages])) whole = whole?.concat(chunk) ?? chunk;
  return whole ?? new AIMessageChunk('');
};

describe.each([false, true])('LangChain (stream: %s)', (stream) => {
  it('completes a loop of tools, with its reasoning', async () => {
    const sent = watch(proxy, threeRounds);
    const model = modelOf({ thinking: { type: 'adaptive' } });
    const bound = model.bindTools([getWeather]);
    const messages: BaseMessage[] = [new HumanMessage(QUESTION)];
    for (let round = 0; round < 3; round += 1) {
      const said = await ask(bound, messages, stream);
      messages.push(said);
      for (const call of said.tool_calls ?? []) messages.push(await weather(call));
    }
    expect(messages.at(-1)?.text).toBe(ANSWER);
    expect(sent()).toHaveLength(3);
    expect(keepsThought(sent())).toBe(true);
  });

  it('counts usage', async () => {
    watch(proxy, hello);
    const { text, usage_metadata: usage } = await ask(
      modelOf().bindTools([]),
      [new HumanMessage('Hello?')],
      stream,
    );
    expect(text).toBe('Hello from the scripted model.');
    // In a stream it reads the input tokens in the first event only, which has our own count.
    const some = expect.toSatisfy((count: number) => count > 0);
    const input = stream ? { input_tokens: some } : { input_tokens: 11, total_tokens: 18 };
    expect(usage).toMatchObject({ output_tokens: 7, ...input });
  });
});

it.each(['functionCalling', 'jsonSchema'] as const)('returns an object by %s', async (method) => {
  const object = { weather: 'rain' };
  watch(
    proxy,
    method === 'functionCalling'
      ? says([{ call: { name: 'weather', arguments: object, callId: 'call_1' } }])
      : says([{ text: JSON.stringify(object) }]),
  );
  const schema = z.object({ weather: z.string() });
  const model = modelOf().withStructuredOutput(schema, { method, name: 'weather' });
  expect(await model.invoke(QUESTION)).toEqual(object);
});
