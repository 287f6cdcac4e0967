import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { beginStream } from '../support/begin-stream.ts';
import { freshProxies } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';
import { until } from '../support/until.ts';

/** Overload: rejected requests get a status, and answered ones are complete. */

const start = freshProxies();

const RESPONSES = '/v1/responses';
const CHAT = '/v1/chat/completions';
const ASK = { model: 'gpt-5.5', input: 'hi' };
const CHAT_ASK = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };
const TEXT = 'Hello from the scripted model.';

const metric = async (on: TestProxy, name: string): Promise<string> =>
  (await (await on.get('/metrics')).text()).split('\n').find((line) => line.startsWith(`${name} `)) ?? '';

/** Holds model requests until they are released. */
const barrier = (script: Script) => {
  const opened = Promise.withResolvers<void>();
  let arrived = 0;
  const guarded: Script = async (request, connection) => {
    arrived += 1;
    await opened.promise;
    await script(request, connection);
  };
  return { script: guarded, arrived: () => arrived, open: () => opened.resolve() };
};

/** The result of a request in one word; unexpected results are shown in full. */
const endOf = async (answer: Response): Promise<string> => {
  const text = await answer.text();
  if (answer.status !== 200) {
    const { error } = JSON.parse(text) as { error: { code: string } };
    const seconds = Number(answer.headers.get('retry-after'));
    return seconds >= 1 ? `${answer.status} ${error.code}` : `${answer.status} without retry-after`;
  }
  if (answer.headers.get('content-type')?.includes('event-stream') !== true) {
    return text.includes(TEXT) ? 'whole' : text;
  }
  const events = eventsOf(await collect(readSse(text)));
  const isWhole =
    text.includes('"type":"response.completed"') || text.includes('"finish_reason":"stop"')
      ? !text.includes('"error":{')
      : false;
  return isWhole && text.trimEnd().endsWith('data: [DONE]') && events.length > 0 ? 'whole' : text;
};

const countsOf = (ends: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const end of ends) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
};

/** A model that counts the requests it answers at the same time. */
const countingModel = (): { readonly script: Script; most(): number } => {
  let running = 0;
  let most = 0;
  return {
    async script(request, connection) {
      running += 1;
      most = Math.max(most, running);
      await hello(request, connection);
      running -= 1;
    },
    most: () => most,
  };
};

describe('300 requests at once', () => {
  it('some run, some wait, and the rest are rejected with a retry time: streams and JSON, both APIs', async () => {
    const model = countingModel();
    // Closed until one was refused, however slowly they arrive.
    const { script, open } = barrier(model.script);
    const limited = await start(script, {
      PROXY_MAX_CONCURRENT_TURNS: '4',
      PROXY_MAX_QUEUED_TURNS: '40',
      // A waiting turn has not sent its headers, however long it waits: an error would otherwise be inside a 200.
      PROXY_SSE_KEEPALIVE_MS: '50',
    });
    const answers = Array.from({ length: 300 }, (_, index) =>
      index % 2 === 0
        ? limited.post(RESPONSES, { ...ASK, stream: index % 4 === 0 })
        : limited.post(CHAT, { ...CHAT_ASK, stream: index % 4 === 1 }),
    );
    for (const answer of answers) void answer.then(({ status }) => status === 503 && open());
    const counts = countsOf(await Promise.all(answers.map(async (answer) => endOf(await answer))));
    const { whole = 0, '503 server_overloaded': refused = 0, ...others } = counts;
    expect({ others, all: whole + refused }).toEqual({ others: {}, all: 300 });
    expect(model.most()).toBeLessThanOrEqual(4);
    // Requests that arrive while others finish are served too.
    expect(whole).toBeGreaterThanOrEqual(44);
    expect(refused).toBeGreaterThan(0);
    expect(await metric(limited, 'proxy_turns_running')).toBe('proxy_turns_running 0');
    expect(await metric(limited, 'proxy_turns_queued')).toBe('proxy_turns_queued 0');
    expect(await metric(limited, 'proxy_bytes_in_flight')).toBe('proxy_bytes_in_flight 0');
    expect(await metric(limited, 'proxy_refused_total{reason="full"}')).toBe(
      `proxy_refused_total{reason="full"} ${refused}`,
    );
    const more = await limited.post(RESPONSES, ASK);
    expect([more.status, await endOf(more)]).toEqual([200, 'whole']);
  });

  it('one key cannot displace another', async () => {
    const { script, arrived, open } = barrier(hello);
    const limited = await start(script, {
      PROXY_API_KEY: 'sk-greedy,sk-modest',
      PROXY_MAX_CONCURRENT_TURNS: '2',
      PROXY_MAX_QUEUED_TURNS: '20',
    });
    const ask = async (key: string, stream: boolean): Promise<string> =>
      endOf(
        await limited.post(RESPONSES, { ...ASK, stream }, { headers: { authorization: `Bearer ${key}` } }),
      );
    let refused = 0;
    const greedy = Array.from({ length: 100 }, async (_, index) => {
      const end = await ask('sk-greedy', index % 2 === 0);
      if (end !== 'whole') refused += 1;
      return end;
    });
    await until(() => arrived() === 2 && refused === 78);
    const modest = Array.from({ length: 10 }, (_, index) => ask('sk-modest', index % 2 === 0));
    // No request of the modest key is rejected; all waiting ones are served.
    await until(() => refused === 88);
    open();
    expect(countsOf(await Promise.all(modest))).toEqual({ whole: 10 });
    const counts = countsOf(await Promise.all(greedy));
    expect(counts).toEqual({
      whole: 12,
      // Alone, the key found the server full; with the other key, it had to give way.
      '503 server_overloaded': 78,
      '429 concurrency_limit': 10,
    });
  });
});

describe('a waiting turn', () => {
  it.each([false, true])('is rejected with a status after its time limit (stream: %s)', async (stream) => {
    const { script, arrived, open } = barrier(hello);
    const limited = await start(script, {
      PROXY_MAX_CONCURRENT_TURNS: '1',
      PROXY_QUEUE_TIMEOUT_MS: '300',
      PROXY_SSE_KEEPALIVE_MS: '20',
    });
    const first = limited.post(RESPONSES, ASK);
    await until(() => arrived() === 1);
    const late = await limited.post(RESPONSES, { ...ASK, stream });
    expect([late.status, late.headers.get('retry-after'), await late.json()]).toEqual([
      503,
      '1',
      {
        error: {
          message: 'The server has too many requests. Please try again later.',
          type: 'server_error',
          param: null,
          code: 'server_overloaded',
        },
      },
    ]);
    open();
    expect([(await first).status, limited.model.requests.length]).toEqual([200, 1]);
  });

  it('leaves the queue when its client disconnects', async () => {
    const { script, arrived, open } = barrier(hello);
    const limited = await start(script, { PROXY_MAX_CONCURRENT_TURNS: '1', PROXY_MAX_QUEUED_TURNS: '1' });
    const first = limited.post(RESPONSES, ASK);
    await until(() => arrived() === 1);
    const client = new AbortController();
    const gone = limited.post(RESPONSES, { ...ASK, stream: true }, { signal: client.signal });
    await until(async () => (await metric(limited, 'proxy_turns_queued')).endsWith(' 1'));
    client.abort();
    await expect(gone).rejects.toThrow('abort');
    await until(async () => (await metric(limited, 'proxy_turns_queued')).endsWith(' 0'));
    const next = limited.post(RESPONSES, ASK);
    await until(async () => (await metric(limited, 'proxy_turns_queued')).endsWith(' 1'));
    open();
    expect([(await first).status, (await next).status, limited.model.requests.length]).toEqual([200, 200, 2]);
  });
});

describe('choices', () => {
  it('count as separate turns, and either all run or none', async () => {
    const model = countingModel();
    const limited = await start(model.script, { PROXY_MAX_CONCURRENT_TURNS: '3' });
    const ask = (n: number, stream = false): Promise<Response> =>
      limited.post(CHAT, { ...CHAT_ASK, n, stream });
    const answers = [ask(2), ask(3), ask(2, true), ask(1), ask(3, true)];
    const ends = await Promise.all(answers.map(async (answer) => endOf(await answer)));
    expect([countsOf(ends), limited.model.requests.length]).toEqual([{ whole: 5 }, 11]);
    expect(model.most()).toBeLessThanOrEqual(3);
    const tooMany = await ask(4);
    expect([tooMany.status, await tooMany.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_value', param: 'n' } },
    ]);
  });
});

describe('a slow reader', () => {
  /** More than socket buffers hold, in few pieces. */
  const large = (): Script => {
    const deltas = Array.from({ length: 24 }, (_, index) =>
      String.fromCodePoint(97 + (index % 26)).repeat(65_536),
    );
    return says([{ text: deltas.join(''), deltas }]);
  };

  it('does not block others after its turn has ended', async () => {
    const limited = await start(large(), { PROXY_MAX_CONCURRENT_TURNS: '1' });
    const unread = await limited.post(RESPONSES, { ...ASK, stream: true });
    limited.use(hello);
    expect(await endOf(await limited.post(RESPONSES, ASK))).toBe('whole');
    const { rest } = await beginStream(unread);
    // A failed test should not print megabytes.
    expect((await rest).includes('event: response.completed')).toBe(true);
  });
});

describe('request bodies in memory', () => {
  const large = { ...ASK, input: 'x'.repeat(700_000) };

  it('have a common limit: one waits and is rejected after its time limit; a small one passes', async () => {
    const { script, arrived, open } = barrier(hello);
    const limited = await start(script, {
      PROXY_MAX_BYTES_IN_FLIGHT_MB: '1',
      PROXY_QUEUE_TIMEOUT_MS: '400',
      // A small body of another key does not wait for the large one.
      PROXY_API_KEY: 'sk-test-key-0123456789,sk-other',
    });
    const first = limited.post(RESPONSES, large);
    await until(() => arrived() === 1);
    const second = limited.post(RESPONSES, large);
    const small = limited.post(RESPONSES, ASK, { headers: { authorization: 'Bearer sk-other' } });
    await until(() => arrived() === 2);
    const refused = await second;
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      503,
      '1',
      {
        error: {
          message: 'The requests in progress are too large in total. Please try again later.',
          type: 'server_error',
          param: null,
          code: 'server_overloaded',
        },
      },
    ]);
    open();
    expect([(await first).status, (await small).status]).toEqual([200, 200]);
    expect((await limited.post(RESPONSES, large)).status).toBe(200);
  });
});

describe('answers that are not read', () => {
  const OTHER = 'sk-other-0123456789';
  const MB = 1024 * 1024;
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** A client that sends a request and reads only the first bytes of its answer: its status. */
  const unread = (on: TestProxy, path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(on.url);
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      socket.on('error', reject);
      socket.once('data', (data: Buffer) => {
        socket.pause();
        resolve(Number(data.toString('latin1').split(' ')[1]));
      });
      socket.write(`GET ${path} HTTP/1.1\r\nhost: proxy\r\nauthorization: Bearer ${on.key}\r\n\r\n`);
    });

  const bytesInFlight = async (on: TestProxy): Promise<number> =>
    Number((await metric(on, 'proxy_bytes_in_flight')).split(' ')[1]);

  it('count until they are read or their connection is gone, and give way to another key', async () => {
    const proxy = await start(hello, {
      PROXY_API_KEY: `sk-test-key-0123456789,${OTHER}`,
      PROXY_MAX_BYTES_IN_FLIGHT_MB: '64',
      PROXY_QUEUE_TIMEOUT_MS: '200',
    });
    const message = { type: 'message' as const, role: 'user' as const, content: 'x'.repeat(7 * MB) };
    const items = [message, message];
    const { id } = await proxy.openai.conversations.create({ items });
    await until(async () => (await bytesInFlight(proxy)) === 0);
    const path = `/v1/conversations/${id}/items`;
    const ends: number[] = [];
    for (let nth = 0; nth < 6; nth += 1) ends.push(await unread(proxy, path));
    expect(ends).toEqual([200, 200, 200, 200, 503, 503]);
    const held = await bytesInFlight(proxy);
    expect(held).toBeGreaterThan(4 * 14 * MB);
    expect(held).toBeLessThanOrEqual(64 * MB);

    const authorization = { authorization: `Bearer ${OTHER}` };
    const answer = await proxy.post('/v1/conversations', { items }, { headers: authorization });
    expect(answer.status).toBe(200);
    expect(await bytesInFlight(proxy)).toBeLessThan(held - 10 * MB);

    for (const socket of sockets) socket.destroy();
    await until(async () => (await bytesInFlight(proxy)) === 0);
    const read = await proxy.get(path);
    expect((await read.text()).length).toBeGreaterThan(14 * MB);
    await until(async () => (await bytesInFlight(proxy)) === 0);
  });
});
