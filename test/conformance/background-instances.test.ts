import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { sharedPostgres } from '../support/postgres.ts';
import type { TestProxy } from '../support/proxy.ts';
import { says } from '../support/scripts.ts';
import { collect } from '../support/turn-events.ts';
import { until } from '../support/until.ts';

/** Two instances on one PostgreSQL serve each other's background responses. */

type Event = OpenAI.Responses.ResponseStreamEvent;

const hangs: Script = says([{ text: 'One, two', end: 'open' }, { hang: true }]);
const ASK = { model: 'gpt-5.5', input: 'Hi.', background: true } as const;

const databaseUrl = await (await sharedPostgres()).createDatabase();
const [one, other] = [
  await openProxy(hangs, { PROXY_DATABASE_URL: databaseUrl }),
  await openProxy(hangs, { PROXY_DATABASE_URL: databaseUrl }),
];

const idOf = ([first]: readonly Event[]): string => {
  if (first?.type !== 'response.created') throw new Error('the stream has no beginning');
  return first.response.id;
};

const textFrom = async (at: TestProxy, id: string, after: number): Promise<string> =>
  (await at.get(`/v1/responses/${id}?stream=true&starting_after=${after}`)).text();

describe('a background response', () => {
  it('is polled, streamed and continued on another instance', async () => {
    const go = Promise.withResolvers<void>();
    one.use(async (request, connection) => {
      await go.promise;
      await says([{ text: 'one two three four five', delayMs: 30 }])(request, connection);
    });
    const live = await one.openai.responses.create({ ...ASK, stream: true });
    const seen: Event[] = [];
    const elsewhere: Promise<readonly Event[]>[] = [];
    for await (const event of live) {
      seen.push(event);
      if (event.type !== 'response.queued') continue;
      expect((await other.openai.responses.retrieve(event.response.id)).status).toBe('queued');
      for (const after of [null, 0, 1, 3]) {
        const query = after === null ? {} : { starting_after: after };
        const stream = other.openai.responses.retrieve(event.response.id, { stream: true, ...query });
        elsewhere.push(stream.then((events) => collect(events)));
      }
      go.resolve();
    }
    expect(await Promise.all(elsewhere)).toEqual([seen, seen.slice(1), seen.slice(2), seen.slice(4)]);
    const id = idOf(seen);
    expect(await other.openai.responses.retrieve(id)).toEqual(await one.openai.responses.retrieve(id));
    for (const [number] of seen.entries()) {
      expect(await textFrom(other, id, number)).toBe(await textFrom(one, id, number));
    }
    other.use(says([{ text: 'six' }]));
    const next = await other.openai.responses.create({
      model: 'gpt-5.5',
      input: 'And?',
      previous_response_id: id,
    });
    expect([next.output_text, next.previous_response_id]).toEqual(['six', id]);
  });

  it('is cancelled on another instance: its model stops, and its streams end', async () => {
    one.use(hangs);
    const live = await one.openai.responses.create({ ...ASK, stream: true });
    const seen: Event[] = [];
    let elsewhere: Promise<readonly Event[]> | null = null;
    for await (const event of live) {
      seen.push(event);
      if (event.type === 'response.queued') {
        const stream = other.openai.responses.retrieve(event.response.id, { stream: true });
        elsewhere = stream.then((events) => collect(events));
      }
      if (event.type === 'response.in_progress') {
        await until(() => one.model.activeRequests() === 1);
        expect(await other.openai.responses.cancel(event.response.id)).toMatchObject({ status: 'cancelled' });
      }
    }
    expect(seen.filter(({ type }) => /completed|failed|incomplete|error/.test(type))).toEqual([]);
    expect(await elsewhere).toEqual(seen);
    await until(() => one.model.activeRequests() === 0);
    expect(await one.openai.responses.retrieve(idOf(seen))).toMatchObject({
      status: 'cancelled',
      output: [],
    });
  });

  it('is deleted on another instance, and stops', async () => {
    one.use(hangs);
    const { id } = await one.openai.responses.create(ASK);
    await until(() => one.model.activeRequests() === 1);
    await other.openai.responses.delete(id);
    await until(() => one.model.activeRequests() === 0);
    expect((await one.get(`/v1/responses/${id}`)).status).toBe(404);
  });
});

describe('a stream with a client', () => {
  it('is sent again by another instance right after its end', async () => {
    one.use(says([{ text: 'one two three' }]));
    for (let round = 0; round < 5; round += 1) {
      const answer = await one.post('/v1/responses', { model: 'gpt-5.5', input: 'Hi.', stream: true });
      const text = await answer.text();
      const id = /"id":"(resp_\w+)"/.exec(text)?.[1] ?? '';
      expect(await (await other.get(`/v1/responses/${id}?stream=true`)).text()).toBe(text);
    }
  });
});
