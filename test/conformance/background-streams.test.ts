import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';

import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { validateStreamEvent } from '../support/schema.ts';
import { hello, says } from '../support/scripts.ts';
import { collect } from '../support/turn-events.ts';
import { until } from '../support/until.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;

const proxy = await openProxy(hello);
const restarted = freshProxies();
const CALL = { call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_1' } } as const;
const TOOL = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object' },
  strict: false,
} as const;
const THOUGHT = { reasoning: { summary: ['Well.'], encrypted: 'sealed', id: 'rs_1' } };

/** Thoughts, a text with letters of any length, and a call. */
const much: Script = says([THOUGHT, { text: 'Grüße 😀 an alle, \u2028 und so weiter.', id: 'msg_1' }, CALL]);
const ASKED = { model: 'gpt-5.5', input: 'Hi.', tools: [TOOL] };

const streamOf = async (at: TestProxy, more: object = {}): Promise<string> =>
  (await at.post('/v1/responses', { ...ASKED, stream: true, background: true, ...more })).text();

/** The events of a stream, as they were sent. */
const blocks = (text: string): readonly string[] => text.split(/(?<=\n\n)/);
const dataOf = (block: string): { readonly sequence_number: number; readonly type: string } =>
  JSON.parse(block.slice(block.indexOf('data: ') + 6)) as never;
const idOf = (text: string): string => /"id":"(resp_\w+)"/.exec(text)?.[1] ?? '';

const again = async (at: TestProxy, id: string, after: number | string | null = null): Promise<string> => {
  const query = after === null ? '' : `&starting_after=${after}`;
  return (await at.get(`/v1/responses/${id}?stream=true${query}`)).text();
};

describe('the stream of a background response', () => {
  it('begins with its queue, and numbers its events from 0 without a gap', async () => {
    proxy.use(much);
    const text = await streamOf(proxy);
    const events = blocks(text)
      .slice(0, -1)
      .map((block) => dataOf(block));
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'response.created', response: { status: 'queued', background: true } },
      { type: 'response.queued', response: { status: 'queued' } },
      { type: 'response.in_progress', response: { status: 'in_progress' } },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { background: true } });
    for (const event of events) validateStreamEvent(event);
    const polled = await (
      await proxy.get(`/v1/responses/${idOf(text)}?include=reasoning.encrypted_content`)
    ).json();
    expect(polled).toMatchObject({ status: 'completed', output: [{}, {}, { call_id: 'call_1' }] });
  });

  it('is the same from every event on, byte for byte', async () => {
    proxy.use(much);
    const text = await streamOf(proxy);
    const id = idOf(text);
    const all = blocks(text);
    expect(await again(proxy, id)).toBe(text);
    for (const [number] of all.entries()) {
      expect([number, await again(proxy, id, number)]).toEqual([number, all.slice(number + 1).join('')]);
    }
    expect(await again(proxy, id, 1_000_000)).toBe('');
    const wrong = await proxy.get(`/v1/responses/${id}?stream=true&starting_after=soon`);
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { param: 'starting_after' } }]);
  });

  it('is followed by any number of readers, who may leave', async () => {
    const go = Promise.withResolvers<void>();
    proxy.use(async (request, connection) => {
      await go.promise;
      await says([{ text: 'one two three four five six', delayMs: 20 }])(request, connection);
    });
    const leaving = new AbortController();
    const first = await proxy.post(
      '/v1/responses',
      { ...ASKED, stream: true, background: true },
      { signal: leaving.signal },
    );
    const reader = (first.body as ReadableStream<Uint8Array>).getReader();
    let begun = '';
    while (!begun.includes('response.queued')) begun += new TextDecoder().decode((await reader.read()).value);
    const id = idOf(begun);
    const others = [again(proxy, id), again(proxy, id, 0), again(proxy, id, 2)];
    go.resolve();
    while (!begun.includes('two')) begun += new TextDecoder().decode((await reader.read()).value);
    leaving.abort();
    const [whole = '', ...rest] = await Promise.all(others);
    const all = blocks(whole);
    expect(all.at(-2)).toContain('response.completed');
    expect(rest).toEqual([all.slice(1).join(''), all.slice(3).join('')]);
    const seen = blocks(begun).filter((block) => block.endsWith('\n\n'));
    expect(seen.join('') + (await again(proxy, id, seen.length - 1))).toBe(whole);
  });

  it('is read by the official client, live and after its end', async () => {
    const { openai } = proxy;
    proxy.use(says([{ text: 'one two three', delayMs: 20 }]));
    const stream = await openai.responses.create({
      model: 'gpt-5.5',
      input: 'Hi.',
      background: true,
      stream: true,
    });
    const seen: Event[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const [created] = seen;
    if (created?.type !== 'response.created') throw new Error('the stream has no beginning');
    const { id } = created.response;
    const cursor = seen.at(-1)?.sequence_number ?? 0;
    const rest = await collect(await openai.responses.retrieve(id, { stream: true, starting_after: cursor }));
    expect(rest.map((event) => event.sequence_number)).toEqual(rest.map((_, index) => cursor + 1 + index));
    expect(rest.at(-1)).toMatchObject({ type: 'response.completed', response: { id } });
    const whole = await collect(await openai.responses.retrieve(id, { stream: true }));
    expect(whole).toEqual([...seen, ...rest]);
    expect(await openai.responses.stream({ response_id: id }).finalResponse()).toMatchObject({
      id,
      status: 'completed',
      output_text: 'one two three',
    });
    const after = openai.responses.stream({ response_id: id, starting_after: cursor });
    const numbers: number[] = [];
    after.on('event', (event) => numbers.push(event.sequence_number));
    await after.finalResponse();
    expect(numbers).toEqual(rest.map((event) => event.sequence_number));
  });

  it('just ends when the response is cancelled', async () => {
    proxy.use(says([{ text: 'One, two', end: 'open' }, { hang: true }]));
    const { responses } = proxy.openai;
    const stream = await responses.create({ model: 'gpt-5.5', input: 'Hi.', background: true, stream: true });
    const seen: Event[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.in_progress') await responses.cancel(event.response.id);
    }
    const [created, ...rest] = seen;
    if (created?.type !== 'response.created') throw new Error('the stream has no beginning');
    expect(
      rest.map(({ type }) => type).filter((type) => /completed|failed|incomplete|error/.test(type)),
    ).toEqual([]);
    const { id } = created.response;
    expect(await collect(await responses.retrieve(id, { stream: true }))).toEqual(seen);
    await until(() => proxy.model.activeRequests() === 0);
  });

  it('exists also if the request did not ask for it', async () => {
    proxy.use(much);
    const { id } = await proxy.openai.responses.create({ ...ASKED, background: true });
    const text = await again(proxy, id);
    expect(blocks(text).map((block) => /event: (.*)/.exec(block)?.[1])).toEqual(
      expect.arrayContaining(['response.created', 'response.queued', 'response.completed', 'done']),
    );
    expect(await again(proxy, id)).toBe(text);
  });

  it('ends with an error event if the response fails', async () => {
    proxy.use((_, connection) =>
      connection.reply(400, { error: { message: 'Too rude.', type: 'invalid_request_error', code: 'rude' } }),
    );
    const text = await streamOf(proxy);
    expect(blocks(text).map((block) => /event: (.*)/.exec(block)?.[1])).toEqual([
      'response.created',
      'response.queued',
      'error',
      'response.failed',
      'done',
    ]);
    expect(await again(proxy, idOf(text), 1)).toBe(blocks(text).slice(2).join(''));
  });

  it('survives a restart of the server, and is dropped ten minutes after its end', async () => {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'background-'));
    const first = await restarted(much, { PROXY_STATE_DIR: stateDir });
    const text = await streamOf(first);
    const id = idOf(text);
    await first.app.stop(5_000);
    const second = await restarted(much, { PROXY_STATE_DIR: stateDir });
    expect(await again(second, id)).toBe(text);
    expect(await again(second, id, 4)).toBe(blocks(text).slice(5).join(''));
    await second.app.stop(5_000);
    const database = new DatabaseSync(path.join(stateDir, 'state.db'));
    const [kept] = database
      .prepare('select min(expires_at) as at, max(expires_at) as last from run_events')
      .all();
    expect(kept?.['at']).toBe(kept?.['last']);
    expect(Math.abs(Number(kept?.['at']) - Date.now() - 600_000)).toBeLessThan(60_000);
    database.exec('update run_events set expires_at = 1');
    database.close();
    const third = await restarted(much, { PROXY_STATE_DIR: stateDir });
    const old = await third.get(`/v1/responses/${id}?stream=true`);
    expect([old.status, await old.json()]).toEqual([
      400,
      {
        error: {
          message: 'This response can no longer be streamed because it is more than 10 minutes old.',
          type: 'invalid_request_error',
          param: 'stream',
          code: 'invalid_request_error',
        },
      },
    ]);
    expect((await third.get(`/v1/responses/${id}`)).status).toBe(200);
  });
});

describe('the stream of a foreground response', () => {
  it('can be sent again while it is kept, if the response is stored', async () => {
    proxy.use(much);
    const text = await streamOf(proxy, { background: false });
    const id = idOf(text);
    const all = blocks(text);
    expect(await again(proxy, id)).toBe(text);
    expect(await again(proxy, id, 3)).toBe(all.slice(4).join(''));
    const unstored = await streamOf(proxy, { background: false, store: false });
    expect((await proxy.get(`/v1/responses/${idOf(unstored)}?stream=true`)).status).toBe(404);
  });

  it('is not found while it runs, and not kept if its client leaves', async () => {
    proxy.use(says([{ text: 'One, two', end: 'open' }, { hang: true }]));
    const leaving = new AbortController();
    const answer = await proxy.post('/v1/responses', { ...ASKED, stream: true }, { signal: leaving.signal });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const id = idOf(new TextDecoder().decode((await reader.read()).value));
    expect((await proxy.get(`/v1/responses/${id}?stream=true`)).status).toBe(404);
    leaving.abort();
    await until(() => proxy.model.activeRequests() === 0);
    expect((await proxy.get(`/v1/responses/${id}?stream=true`)).status).toBe(404);
  });

  it('does not exist if the answer was sent whole', async () => {
    proxy.use(hello);
    const { id } = await proxy.openai.responses.create({ model: 'gpt-5.5', input: 'Hi.' });
    const answer = await proxy.get(`/v1/responses/${id}?stream=true`);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      {
        error: {
          message: 'This response cannot be streamed because it was not created with background=true.',
          type: 'invalid_request_error',
          param: 'stream',
          code: 'invalid_request_error',
        },
      },
    ]);
  });
});
