import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { afterAll, describe, expect, it } from 'vitest';

import { closedHost } from '../support/closed-host.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { PROVIDER_KEY, startProvider, type ProviderScript } from '../support/provider.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const IDLE_MS = 1_500;
const QUEUE_MS = 300;
const MB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

const provider = await startProvider();
afterAll(() => provider.close());
const nowhere = await closedHost();
const settings = {
  PROXY_EMBEDDINGS_BASE_URL: provider.baseUrl,
  PROXY_EMBEDDINGS_API_KEY: PROVIDER_KEY,
  PROXY_TRANSCRIPTIONS_BASE_URL: `http://${nowhere}/v1`,
  PROXY_UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_MS),
  PROXY_UPLOAD_IDLE_TIMEOUT_MS: '500',
  PROXY_QUEUE_TIMEOUT_MS: String(QUEUE_MS),
};
const proxy = await openProxy(hello, settings);
const fresh = freshProxies();

const ask = (init: RequestInit = {}): Promise<Response> =>
  proxy.post('/v1/embeddings', { model: 'm', input: 'tea' }, init);

/** Answers after the whole request was read. */
const answering =
  (answer: (outgoing: ServerResponse) => unknown): ProviderScript =>
  (incoming, outgoing) =>
    incoming.resume().once('end', () => answer(outgoing));

const failed = async (response: Response): Promise<unknown> => [
  response.status,
  ((await response.json()) as { error: { code: string; message: string } }).error,
];
const failure = (status: number, code: string, message: string): unknown => [
  status,
  { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code },
];

/** The last access log line, when the request has ended. */
const logged = async (errorCode: string | null): Promise<void> => {
  await expect
    .poll(() => proxy.log.findLast(({ msg }) => msg === 'request'))
    .toMatchObject({ route: '/v1/embeddings', errorCode });
};

describe('a provider', () => {
  it('that cannot be reached is named', async () => {
    expect(await failed(await proxy.post('/v1/audio/transcriptions', {}))).toEqual(
      failure(
        502,
        'upstream_unreachable',
        `The upstream at ${nowhere} could not be reached: the connection was refused (ECONNREFUSED).`,
      ),
    );
  });

  it('that never answers ends with a timeout', async () => {
    provider.use((incoming) => void incoming.resume());
    expect(await failed(await ask())).toEqual(
      failure(
        504,
        'upstream_timeout',
        `The upstream at ${provider.host} sent nothing for ${IDLE_MS / 1000} s.`,
      ),
    );
  });

  it('that does not read a body ends with a timeout', async () => {
    provider.use(() => {});
    const response = await proxy.send('/v1/embeddings', { method: 'POST', body: Buffer.alloc(20 * MB) });
    expect(response.status).toBe(504);
  });

  it('that stops in the middle of an answer breaks it', async () => {
    provider.use(answering((outgoing) => outgoing.writeHead(200, JSON_TYPE).write('{"data":')));
    const response = await ask();
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
    await logged('upstream_timeout');
  });

  it('that closes the connection before its answer is named', async () => {
    provider.use(answering((outgoing) => outgoing.destroy()));
    expect(await failed(await ask())).toEqual(
      failure(
        502,
        'upstream_unreachable',
        `The upstream at ${provider.host} could not be reached: the connection was closed (UND_ERR_SOCKET).`,
      ),
    );
  });

  it('that does not speak HTTP is named', async () => {
    provider.use((incoming) => void incoming.socket.end('SSH-2.0-tea\r\n'));
    expect(await failed(await ask())).toEqual(
      failure(
        502,
        'upstream_unreachable',
        `The upstream at ${provider.host} could not be reached: its answer is not HTTP (HPE_INVALID).`,
      ),
    );
  });

  it.each([
    ['with a length, at once', { ...JSON_TYPE, 'content-length': '100' }, false],
    ['with a length', { ...JSON_TYPE, 'content-length': '100' }, true],
    ['in chunks, at once', JSON_TYPE, false],
    ['in chunks', JSON_TYPE, true],
    ['as events', { 'content-type': 'text/event-stream' }, true],
  ])('that cuts an answer off %s does not make it look complete', async (_, headers, waits) => {
    const cut = Promise.withResolvers<void>();
    provider.use(
      answering(async (outgoing) => {
        outgoing.writeHead(200, headers).write('{"data":[]}');
        if (waits) await cut.promise;
        else await new Promise(setImmediate);
        outgoing.destroy();
      }),
    );
    const read = async (): Promise<string> => {
      const response = await ask();
      cut.resolve();
      return response.text();
    };
    await expect(read()).rejects.toThrow(/terminated|fetch failed/);
    await logged('upstream_error');
  });

  it('that reports its limit is quoted', async () => {
    const body =
      '{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}';
    provider.use(
      answering((outgoing) => outgoing.writeHead(429, { ...JSON_TYPE, 'retry-after': '7' }).end(body)),
    );
    const response = await ask();
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([
      429,
      '7',
      body,
    ]);
    await logged(null);
  });

  it('that quotes its key is not quoted with it', async () => {
    const quote = (key: string): string =>
      JSON.stringify({ error: { message: `Incorrect API key: ${key}, sent as Bearer ${key}.` } });
    provider.use(
      answering((outgoing) =>
        outgoing
          .writeHead(401, { ...JSON_TYPE, 'x-ratelimit-key': PROVIDER_KEY })
          .end(quote(PROVIDER_KEY) + quote('sk-prov******cdef')),
      ),
    );
    const response = await ask();
    const shown = '{"error":{"message":"Incorrect API key: sk-***, sent as Bearer ***"}}';
    expect([response.status, response.headers.get('x-ratelimit-key'), await response.text()]).toEqual([
      401,
      '***',
      '{"error":{"message":"Incorrect API key: ***, sent as Bearer ***"}}' + shown,
    ]);
  });

  it.each<[string, (outgoing: ServerResponse) => unknown, string]>([
    [
      'that redirects is not followed',
      (outgoing) => outgoing.writeHead(307, { location: `http://${nowhere}/` }).end(),
      'answered with a redirect. On the server, check PROXY_EMBEDDINGS_BASE_URL',
    ],
    [
      'with a huge error is not quoted',
      (outgoing) => outgoing.writeHead(500).end(Buffer.alloc(MB)),
      'answered 500 with an error that is too large',
    ],
    [
      'with a compressed error is not quoted',
      (outgoing) => outgoing.writeHead(500, { 'content-encoding': 'gzip' }).end('x'),
      'answered 500 with a compressed error',
    ],
    [
      'that cuts an error off is not quoted',
      (outgoing) => {
        outgoing.writeHead(500).write('half an err');
        setImmediate(() => outgoing.destroy());
      },
      'cut its answer off',
    ],
    [
      'with an unknown status is not quoted',
      (outgoing) => outgoing.writeHead(600).end('x'),
      'answered with the unknown status 600',
    ],
  ])('%s', async (_, answer, what) => {
    provider.use(answering(answer));
    expect(await failed(await ask())).toEqual(
      failure(502, 'upstream_error', `The upstream at ${provider.host} ${what}.`),
    );
  });

  it('that answers before it has read the request is heard', async () => {
    const body = '{"error":{"message":"too large for us"}}';
    provider.use((_incoming, outgoing) => void outgoing.writeHead(413, JSON_TYPE).end(body));
    const response = await proxy.send('/v1/embeddings', { method: 'POST', body: Buffer.alloc(20 * MB) });
    expect([response.status, await response.text()]).toEqual([413, body]);
  });
});

describe('a client', () => {
  it('that reads slowly slows the provider down, and gets everything', async () => {
    const chunk = Buffer.alloc(MB, 'tea ');
    const chunks = 32;
    let sent = 0;
    provider.use(
      answering(async (outgoing) => {
        outgoing.writeHead(200, JSON_TYPE);
        for (; sent < chunks; sent += 1) if (!outgoing.write(chunk)) await once(outgoing, 'drain');
        outgoing.end();
      }),
    );
    const response = await ask();
    // Longer than the provider may be idle: it is not, it cannot send.
    await new Promise((resolve) => {
      setTimeout(resolve, IDLE_MS + 500);
    });
    const sentUnread = sent;
    const hash = createHash('sha256');
    for await (const part of response.body ?? []) hash.update(part);
    const expected = createHash('sha256');
    for (let count = 0; count < chunks; count += 1) expected.update(chunk);
    expect(hash.digest('hex')).toBe(expected.digest('hex'));
    expect(sentUnread).toBeLessThan(chunks / 2);
  });

  it.each([
    ['before the answer', () => {}],
    ['during the answer', (outgoing: ServerResponse) => outgoing.writeHead(200, JSON_TYPE).write('{')],
  ])('that leaves %s ends the request', async (_, answer) => {
    const asked = Promise.withResolvers<IncomingMessage>();
    provider.use((incoming, outgoing) => {
      incoming.resume();
      answer(outgoing);
      asked.resolve(incoming);
    });
    const leaving = new AbortController();
    const response = ask({ signal: leaving.signal });
    response.catch(() => {});
    const { socket } = await asked.promise;
    leaving.abort();
    await until(() => socket.destroyed && proxy.app.answersUnderWay() === 0);
    await logged(null);
    expect(proxy.log.findLast(({ msg }) => msg === 'request failed')).toBeUndefined();
  });

  it('that stops sending gets a timeout', async () => {
    provider.use((incoming) => void incoming.resume());
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) });
    const response = await proxy.send('/v1/embeddings', { method: 'POST', body, duplex: 'half' });
    expect([response.status, await response.json()]).toMatchObject([
      408,
      { error: { code: 'request_timeout' } },
    ]);
  });
});

describe('many requests', () => {
  it('wait for others, and are rejected after a while', async () => {
    const open: ServerResponse[] = [];
    provider.use(answering((outgoing) => open.push(outgoing)));
    const first = Array.from({ length: 64 }, () => ask());
    await until(() => open.length === 64);
    const late = await ask();
    expect([late.status, late.headers.get('retry-after'), open.length]).toEqual([503, '1', 64]);
    expect(await late.json()).toMatchObject({ error: { code: 'server_overloaded' } });
    for (const outgoing of open) outgoing.writeHead(200, JSON_TYPE).end('{}');
    expect(new Set((await Promise.all(first)).map(({ status }) => status))).toEqual(new Set([200]));
    provider.use(answering((outgoing) => outgoing.writeHead(200, JSON_TYPE).end('{}')));
    expect((await ask()).status).toBe(200);
  });
});

describe('a shutdown', () => {
  it('waits for an answer', async () => {
    const stopping = await fresh(hello, settings);
    const asked = Promise.withResolvers<ServerResponse>();
    provider.use(answering((outgoing) => asked.resolve(outgoing)));
    const response = stopping.post('/v1/embeddings', { model: 'm' });
    const outgoing = await asked.promise;
    const stopped = stopping.app.stop(30_000);
    outgoing.writeHead(200, JSON_TYPE).end('{"data":[]}');
    expect(await (await response).json()).toEqual({ data: [] });
    await stopped;
  });

  it('interrupts an answer that takes too long', async () => {
    const stopping = await fresh(hello, settings);
    provider.use(answering((outgoing) => outgoing.writeHead(200, JSON_TYPE).write('{')));
    const response = await stopping.post('/v1/embeddings', { model: 'm' });
    const read = response.text();
    read.catch(() => {});
    await stopping.app.stop(0);
    await expect(read).rejects.toThrow('terminated');
  });
});
