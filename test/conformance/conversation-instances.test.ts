import { expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { objectsIn } from './responses-sent.ts';

/** Two instances on one PostgreSQL that write to the same conversation. */

const fresh = freshProxies();

const textOf = (item: object): string => {
  const { type, content } = item as { type: string; content?: readonly { text?: string }[] };
  return content?.[0]?.text ?? type;
};

/** Answers with the last text that it read. */
const echo: Script = (request, connection) => {
  const last = objectsIn(request.body['input']).at(-1);
  return answer(connection, [{ text: `echo ${last === undefined ? '' : textOf(last)}` }]);
};

it('adds each answer once, one after the other', async () => {
  const env = {
    PROXY_DATABASE_URL: await (await sharedPostgres()).createDatabase(),
    PROXY_CONVERSATION_WAIT_MS: '120000',
  };
  const instances = [await fresh(echo, env), await fresh(echo, env)] as const;
  const [one, other] = instances;
  const { id } = await one.openai.conversations.create();
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const { openai } = instances[index % 2 === 0 ? 0 : 1];
      const ask = { model: 'gpt-5.5', input: `writer ${index}`, conversation: id };
      await (index % 3 === 0 ? openai.responses.stream(ask).finalResponse() : openai.responses.create(ask));
    }),
  );
  const texts: string[] = [];
  for await (const item of other.openai.conversations.items.list(id, { order: 'asc' }))
    texts.push(textOf(item));
  const inputs = Array.from({ length: 20 }, (_, index) => `writer ${index}`);
  expect(texts.toSorted()).toEqual(inputs.flatMap((input) => [input, `echo ${input}`]).toSorted());
  const requests = instances.flatMap(({ model }) => model.requests);
  expect(requests).toHaveLength(20);
  for (const { body } of requests) {
    const read = objectsIn(body['input']).map(textOf);
    expect(read).toEqual(texts.slice(0, read.length));
  }
  await one.openai.conversations.delete(id);
  expect((await other.get(`/v1/conversations/${id}`)).status).toBe(404);
}, 120_000);
