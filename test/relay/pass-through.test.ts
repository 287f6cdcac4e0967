import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';

import { completed, freshRelays, status, type Answer } from './backend.ts';

const start = freshRelays();

const sha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** An app-server with a login also has requests about its account. */
const withAccount = (url: string) => ({
  targets: { model: url, account: url, refresh: null, revoke: null, authApi: null },
});

describe('a request that is not for the model', () => {
  it('passes byte for byte, in both directions', async () => {
    const sent = Buffer.from('{ "odd":  1e2, "text": "\\u00e9é\\ud800", "dup": 1, "dup": 2 }\n');
    const back = randomBytes(300_000);
    const { relay, backend, noted } = await start((response) => {
      response.writeHead(203, {
        'x-answer': 'yes',
        'content-type': 'application/odd',
        'set-cookie': ['a', 'b'],
      });
      response.write(back.subarray(0, 100_000));
      response.end(back.subarray(100_000));
    }, withAccount);
    const response = await fetch(`${relay.addresses.account}/responses/compact?a=b%20c&d`, {
      method: 'POST',
      body: sent,
      headers: { 'thread-id': 'not ours', 'x-odd': 'kept', authorization: 'Bearer kept' },
    });
    expect(response.status).toBe(203);
    expect(sha(new Uint8Array(await response.arrayBuffer()))).toBe(sha(back));
    expect(response.headers.get('x-answer')).toBe('yes');
    expect(response.headers.get('content-type')).toBe('application/odd');
    expect(response.headers.getSetCookie()).toEqual(['a', 'b']);
    const [connectionInfo] = backend.arrivals;
    expect(connectionInfo).toMatchObject({
      method: 'POST',
      url: '/v1/responses/compact?a=b%20c&d',
      headers: {
        host: new URL(backend.url).host,
        'thread-id': 'not ours',
        'x-odd': 'kept',
        authorization: 'Bearer kept',
        'content-length': String(sent.length),
      },
    });
    expect(sha(connectionInfo?.body ?? Buffer.alloc(0))).toBe(sha(sent));
    expect(noted).toMatchObject({ unplaced: 0, lost: [] });
  });

  it('may have another method, no body, no answer body or an error', async () => {
    const { relay, backend } = await start((response, connectionInfo) => {
      if (connectionInfo.url.endsWith('/models'))
        status(404, 'nothing here', { 'x-odd': '1' })(response, connectionInfo, 0);
      else response.writeHead(204).end();
    });
    const empty = await fetch(`${relay.addresses.model}/x`, { method: 'DELETE' });
    expect([empty.status, await empty.text()]).toEqual([204, '']);
    const missing = await fetch(`${relay.addresses.model}/models`);
    expect([missing.status, await missing.text(), missing.headers.get('x-odd')]).toEqual([
      404,
      'nothing here',
      '1',
    ]);
    expect(backend.arrivals.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE /v1/x',
      'GET /v1/models',
    ]);
  });

  it('is not edited, although its thread has a turn', async () => {
    const { relay, backend, open } = await start(completed, withAccount);
    open('t1', { maxOutputTokens: 5 });
    const headers = { 'thread-id': 't1', 'x-codex-turn-metadata': '{"turn_id":"turn-1"}' };
    await fetch(`${relay.addresses.model}/models`, { headers });
    await fetch(`${relay.addresses.account}/x`, {
      method: 'POST',
      body: '{"prompt_cache_key":"t1"}',
      headers,
    });
    expect(backend.arrivals.map(({ body }) => body.toString())).toEqual(['', '{"prompt_cache_key":"t1"}']);
    for (const arrival of backend.arrivals) expect(arrival.headers).toMatchObject(headers);
  });
});

describe('a model request without a turn', () => {
  it.each([
    ['an unknown thread', '/responses', { 'thread-id': 'not ours' }],
    ['no thread', '/responses', {}],
    ['another path', '/responses/compact', { 'thread-id': 'not ours' }],
    ['a review of an unknown thread', '/responses', { 'thread-id': 't1', 'x-openai-subagent': 'review' }],
  ])('is not sent: %s', async (_, path, headers) => {
    const { relay, backend, open, noted } = await start(completed);
    const { events } = open('t1');
    const response = await fetch(relay.addresses.model + path, {
      method: 'POST',
      body: '{"input":[]}',
      headers,
    });
    expect([response.status, await response.text()]).toEqual([410, '']);
    expect(backend.arrivals).toEqual([]);
    expect(noted).toMatchObject({ unplaced: 1, lost: [], served: 0 });
    expect(events).toEqual([]);
  });
});

describe('an unreadable body of a turn', () => {
  it.each(['{"half":', '[1]', '', 'null', '"text"'])('is not sent: %s', async (body) => {
    const { backend, open, post, noted } = await start(completed);
    open('t1', { maxOutputTokens: 5 });
    const response = await post('t1', body);
    expect([response.status, await response.text()]).toEqual([410, '']);
    expect(backend.arrivals).toEqual([]);
    expect(noted).toMatchObject({ retries: [], served: 0 });
  });
});

describe('a stranger', () => {
  it('learns nothing', async () => {
    const { relay, backend, noted } = await start(completed);
    const { origin, pathname } = new URL(relay.addresses.model);
    const secret = pathname.slice(1);
    const guesses = [
      `/${secret.replace('/model', '')}/backend-api/wham/settings/user`,
      `/${secret.replace('/model', '')}/modelx/responses`,
      '/',
      '/responses',
      '/v1/responses',
      `/${secret}`,
      `/${secret}x/responses`,
      `/${secret.slice(0, -1)}/responses`,
      `/${secret.toUpperCase()}/responses`,
      `//${secret}/responses`,
      `/x/../${secret.slice(1)}/responses`,
      `/${'é'.repeat(secret.length)}/responses`,
    ];
    for (const guess of guesses) {
      const response = await fetch(origin + guess, { method: 'POST', body: 'x' });
      expect([
        guess,
        response.status,
        await response.text(),
        [...response.headers.keys()].includes('server'),
      ]).toEqual([guess, 404, '', false]);
    }
    expect(secret.length).toBeGreaterThanOrEqual(32);
    expect(backend.arrivals).toEqual([]);
    expect(noted.unplaced).toBe(0);
  });

  it('cannot keep a connection by sending without end', async () => {
    const { relay } = await start(completed);
    const { port } = new URL(relay.addresses.model);
    const socket = connect(Number(port), '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.write('POST /guess HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n');
    const sending = setInterval(() => socket.write('x'.repeat(1000)), 5);
    await closed;
    clearInterval(sending);
    expect(socket.destroyed).toBe(true);
  });

  it('cannot smuggle a second request after the first', async () => {
    const { relay, backend } = await start(completed);
    const { port, pathname } = new URL(relay.addresses.model);
    const socket = connect(Number(port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString();
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.end(
      [
        `POST ${pathname}/responses HTTP/1.1`,
        'host: x',
        'content-length: 5',
        'transfer-encoding: chunked',
        '',
        '0',
        '',
        `POST ${pathname}/evil HTTP/1.1`,
        'host: x',
        '',
        '',
      ].join('\r\n'),
    );
    await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(backend.arrivals.filter(({ url }) => url.endsWith('/evil'))).toEqual([]);
  });

  it('at another address finds no port', async () => {
    const { relay } = await start(completed);
    const { port } = new URL(relay.addresses.model);
    const addresses = Object.values(networkInterfaces())
      .flat()
      .flatMap((one) =>
        one === undefined || one.address === '127.0.0.1' || one.scopeid ? [] : [one.address],
      );
    const reached = await Promise.all(
      [...addresses, '127.0.0.2'].map((host) => canConnect(host, Number(port))),
    );
    expect(reached.length).toBeGreaterThan(0);
    expect(reached).not.toContain(true);
    expect(await canConnect('127.0.0.1', Number(port))).toBe(true);
  });
});

const canConnect = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 5_000 });
    const end = (reached: boolean) => (): void => {
      socket.destroy();
      resolve(reached);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });

describe('a redirect', () => {
  const redirect: Answer = (response) => {
    response.writeHead(307, { location: 'https://elsewhere.example/v1/responses' });
    response.end('x'.repeat(1_000_000));
  };

  it('is not followed with a request of a turn', async () => {
    const { backend, open, post } = await start(redirect);
    const { refused } = open('t1');
    const response = await post('t1', {}, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([502, null]);
    expect(refused()).toMatchObject({
      kind: 'upstream_error',
      message: `The upstream at ${new URL(backend.url).host} answered with a redirect. On the server, check PROXY_UPSTREAM_BASE_URL.`,
    });
  });

  it('passes unchanged for others', async () => {
    const { relay } = await start(redirect);
    const response = await fetch(`${relay.addresses.model}/models`, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([
      307,
      'https://elsewhere.example/v1/responses',
    ]);
  });
});

describe("the app-server's next request before the answer has a reader", () => {
  const ask = { model: 'gpt-5.5', input: [] };

  it('waits for one', async () => {
    const test = await start(completed);
    const { relayTurn } = test.open('t1', {}, false);
    test.open('t2');
    // The answer itself waits for nothing.
    await (await test.post('t1', ask)).text();
    const order: string[] = [];
    const post = async (): Promise<void> => {
      await (await test.post('t1', ask)).text();
      order.push('asked again');
    };
    const posted = post();
    await (await test.post('t2', ask)).text();
    order.push('reader attached');
    relayTurn.begin();
    await posted;
    expect(order).toEqual(['reader attached', 'asked again']);
    expect(test.backend.arrivals).toHaveLength(3);
  });

  it('is rejected if the turn has ended by then', async () => {
    const test = await start(completed);
    const { relayTurn } = test.open('t1', {}, false);
    test.open('t2');
    await (await test.post('t1', ask)).text();
    const posted = test.post('t1', ask);
    await (await test.post('t2', ask)).text();
    relayTurn.close();
    expect((await posted).status).toBe(410);
    expect(test.backend.arrivals).toHaveLength(2);
  });
});
