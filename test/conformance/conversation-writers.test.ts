import type OpenAI from 'openai';
import { expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { freshProxies } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { objectsIn } from './responses-sent.ts';

/** Several requests that write to one conversation. */

const fresh = freshProxies();
const MODEL = 'gpt-5.5';

const textOf = (item: object): string => {
  const { type, content } = item as { type: string; content?: readonly { text?: string }[] };
  return content?.[0]?.text ?? type;
};

const textsIn = async ({ openai }: TestProxy, id: string): Promise<readonly string[]> => {
  const texts: string[] = [];
  for await (const item of openai.conversations.items.list(id, { order: 'asc' })) texts.push(textOf(item));
  return texts;
};

/** Answers with the last text that it read. */
const echo: Script = (request, connection) => {
  const last = objectsIn(request.body['input']).at(-1);
  return answer(connection, [{ text: `echo ${last === undefined ? '' : textOf(last)}` }]);
};

const hangs = says([{ text: 'wait' }, { hang: true }]);

const LOCKED = {
  status: 400,
  message: 'Another process is currently operating on this conversation. Please retry in a few seconds.',
  type: 'invalid_request_error',
  param: 'conversation',
  code: 'conversation_locked',
};

const errorOf = (asking: Promise<unknown>) =>
  asking.then(
    () => null,
    (error: InstanceType<typeof OpenAI.APIError>) => ({ status: error.status, ...(error.error as object) }),
  );

it('adds each of 50 answers once, one after the other', async () => {
  const proxy = await fresh(echo, { PROXY_CONVERSATION_WAIT_MS: '120000' });
  const { openai } = proxy;
  const { id } = await openai.conversations.create();
  const writers = Array.from({ length: 50 }, async (_, index) => {
    const input = `writer ${index}`;
    if (index % 5 === 0) {
      await openai.conversations.items.create(id, { items: [{ role: 'user', content: input }] });
      return;
    }
    const ask = { model: MODEL, input, conversation: id, store: index % 2 === 0 };
    if (index % 3 === 0) await openai.responses.stream(ask).finalResponse();
    else await openai.responses.create(ask);
  });
  await Promise.all(writers);
  const texts = await textsIn(proxy, id);
  const expected = Array.from({ length: 50 }, (_, index) => {
    const input = `writer ${index}`;
    return index % 5 === 0 ? [input] : [input, `echo ${input}`];
  });
  expect(texts.toSorted()).toEqual(expected.flat().toSorted());
  for (const [place, text] of texts.entries()) {
    if (text.startsWith('echo ')) expect(texts[place - 1]).toBe(text.slice('echo '.length));
  }
  expect(proxy.model.requests).toHaveLength(40);
  // What each turn read is what had been added before it.
  for (const { body } of proxy.model.requests) {
    const read = objectsIn(body['input']).map(textOf);
    expect(read).toEqual(texts.slice(0, read.length));
  }
}, 120_000);

it('refuses writers that wait too long, and lets readers read', async () => {
  const proxy = await fresh(hangs, { PROXY_CONVERSATION_WAIT_MS: '200' });
  const { openai } = proxy;
  const { id } = await openai.conversations.create({
    items: [{ role: 'user', content: 'word '.repeat(100) }],
  });
  const [item] = (await openai.conversations.items.list(id)).data;
  const at = { conversation_id: id };
  const left = new AbortController();
  const ask = { model: MODEL, conversation: id };
  const running = errorOf(openai.responses.create({ ...ask, input: 'a' }, { signal: left.signal }));
  await until(() => proxy.model.requests.length > 0);
  const refused = [
    openai.responses.create({ ...ask, input: 'b' }),
    openai.responses.create({ ...ask, input: 'c', stream: true }),
    openai.conversations.items.create(id, { items: [{ role: 'user', content: 'd' }] }),
    openai.conversations.items.delete(item?.id ?? '', at),
    openai.conversations.delete(id),
  ];
  expect(await Promise.all(refused.map(errorOf))).toEqual(refused.map(() => LOCKED));
  // Reading, and the metadata, need no lock.
  expect((await openai.conversations.items.list(id)).data).toEqual([item]);
  expect(await openai.conversations.update(id, { metadata: { a: 'b' } })).toMatchObject({
    metadata: { a: 'b' },
  });
  const count = async (conversation: { conversation?: string }): Promise<number> =>
    (await openai.responses.inputTokens.count({ model: MODEL, input: 'x', ...conversation })).input_tokens;
  expect((await count(ask)) - (await count({}))).toBeGreaterThan(99);
  // Another conversation is not concerned.
  proxy.use(hello);
  const other = await openai.conversations.create();
  await openai.responses.create({ model: MODEL, input: 'x', conversation: other.id });
  // A client that leaves gives the lock back.
  left.abort();
  await running;
  await until(async () => (await errorOf(openai.responses.create({ ...ask, input: 'e' }))) === null);
  expect((await textsIn(proxy, id)).slice(1)).toEqual(['e', 'Hello from the scripted model.']);
});
