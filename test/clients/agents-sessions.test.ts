import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { ANSWER, itemsOf, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** OpenAI's Agents SDK with conversations that this server keeps. */

const proxy = await openProxy(threeRounds);
const runner = new Runner({ tracingDisabled: true });
const agent = new Agent({
  name: 'weather',
  instructions: 'Be brief.',
  model: new OpenAIResponsesModel(proxy.openai, 'gpt-5.5'),
  tools: [
    tool({
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: z.object({ city: z.string() }),
      execute: ({ city }) => weatherIn(city),
    }),
  ],
});

/** The types of the items that the model read last. */
const readTypes = (): readonly unknown[] =>
  itemsOf(proxy.model.requests.at(-1)?.body ?? {}).map(({ type }) => type);

const TURN = [
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'function_call',
  'function_call',
];
const WHOLE = [...TURN, 'function_call_output', 'function_call_output'];

const run = async (stream: boolean, input: string, options: object): Promise<string | undefined> => {
  if (!stream) return (await runner.run(agent, input, options)).finalOutput;
  const running = await runner.run(agent, input, { ...options, stream: true });
  await running.completed;
  return running.finalOutput;
};

describe.each([false, true])('stream: %s', (stream) => {
  it('keeps a session over several runs', async () => {
    proxy.use(threeRounds);
    const session = new OpenAIConversationsSession({ client: proxy.openai });
    expect(await run(stream, QUESTION, { session })).toBe(ANSWER);
    proxy.use(hello);
    expect(await run(stream, 'Thanks!', { session })).toBe('Hello from the scripted model.');
    expect(readTypes()).toEqual([...WHOLE, 'message', 'message']);
    expect(keepsThought(proxy.model.requests.map(({ body }) => body))).toBe(true);
    const items = await session.getItems();
    expect(items).toHaveLength(WHOLE.length + 3);
    expect(await session.getItems(2)).toEqual(items.slice(-2));
    expect(await session.popItem()).toEqual(items.at(-1));
    expect(await session.getItems()).toEqual(items.slice(0, -1));
    const id = await session.getSessionId();
    await session.clearSession();
    expect((await proxy.get(`/v1/conversations/${id}`)).status).toBe(404);
    expect(await session.getItems()).toEqual([]);
  });

  it('continues a conversation by its id', async () => {
    proxy.use(threeRounds);
    const { id } = await proxy.openai.conversations.create();
    expect(await run(stream, QUESTION, { conversationId: id })).toBe(ANSWER);
    proxy.use(says([{ text: 'You are welcome.' }]));
    expect(await run(stream, 'Thanks!', { conversationId: id })).toBe('You are welcome.');
    expect(readTypes()).toEqual([...WHOLE, 'message', 'message']);
    const { data } = await proxy.openai.conversations.items.list(id, { order: 'asc' });
    expect(data.map(({ type }) => type)).toEqual([...WHOLE, 'message', 'message', 'message']);
  });
});
