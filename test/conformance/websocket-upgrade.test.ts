import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';

import { describe, expect, it } from 'vitest';

import { isEnd, isType, openSocket, UPGRADE } from '../support/client-socket.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const proxy = await openProxy(hello);
const start = freshProxies();

/** The answer to an upgrade, as plain HTTP. */
const upgrade = async (
  at: TestProxy,
  { path = '/v1/responses', method = 'GET', ...headers }: Record<string, string> = {},
): Promise<{ status: number | undefined; requestId: unknown; body: unknown }> => {
  const asked = request(at.url + path, {
    method,
    headers: { authorization: `Bearer ${at.key}`, ...UPGRADE, ...headers },
  });
  asked.end();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.on('error', reject);
  asked.on('response', resolve);
  asked.on('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response);
  });
  const response = await promise;
  const { statusCode: status, headers: got } = response;
  const text = status === 101 ? '' : Buffer.concat(await response.toArray()).toString();
  return { status, requestId: got['x-request-id'], body: text === '' ? null : JSON.parse(text) };
};

describe('an upgrade', () => {
  it.each([
    [{}, 101, null],
    [{ 'x-request-id': 'mine' }, 101, null],
    [{ authorization: '', 'x-api-key': 'sk-test-key-0123456789' }, 101, null],
    [{ origin: 'http://localhost:3000' }, 101, null],
    [{ authorization: '' }, 401, 'invalid_api_key'],
    [{ authorization: 'Bearer wrong' }, 401, 'invalid_api_key'],
    [{ origin: 'http://evil.test' }, 403, 'origin_not_allowed'],
    [{ 'sec-websocket-key': 'short' }, 400, 'malformed_request'],
    [{ 'sec-websocket-version': '1' }, 400, 'malformed_request'],
    [{ path: '/v1/completions' }, 426, 'websocket_not_supported'],
    [{ path: '/v1/nothing' }, 404, 'unknown_url'],
    // No WebSocket: they are requests like any other.
    [{ upgrade: 'h2c', path: '/v1/models' }, 200, null],
    [{ upgrade: 'h2c' }, 405, 'method_not_allowed'],
    [{ method: 'POST' }, 400, 'invalid_json'],
  ])('with %j gets %i %s', async (headers, status, code) => {
    const answer = await upgrade(proxy, headers);
    expect(answer).toEqual({
      status,
      requestId: 'x-request-id' in headers ? 'mine' : expect.stringMatching(/^req_/),
      body:
        code === null
          ? status === 101
            ? null
            : expect.anything()
          : { error: expect.objectContaining({ code }) },
    });
  });

  it('of a page of this server itself is allowed', async () => {
    const { host } = new URL(proxy.url);
    expect(await upgrade(proxy, { origin: `http://${host}` })).toMatchObject({ status: 101 });
  });

  it('is refused while the server stops, and running responses end', async () => {
    const stopping = await start(says([{ text: 'one two', delayMs: 300 }]));
    const [busy, idle] = [await openSocket(stopping), await openSocket(stopping)];
    const answer = busy.create({ input: 'Hi' });
    busy.send({ type: 'response.create', model: 'gpt-5.5', input: 'Later' });
    await busy.next(isType('response.created'));
    const stopped = stopping.app.stop(5_000);
    expect(await idle.closed).toEqual({ code: 1001, reason: 'The server is shutting down.' });
    expect(await upgrade(stopping)).toMatchObject({
      status: 503,
      body: { error: { code: 'shutting_down' } },
    });
    // The request that waited is refused first.
    expect(await answer).toMatchObject({ type: 'error', status: 503, error: { code: 'shutting_down' } });
    expect(await busy.next(isEnd)).toMatchObject({ type: 'response.completed' });
    expect(await busy.closed).toEqual({ code: 1001, reason: 'The server is shutting down.' });
    await stopped;
  });

  it('gets 426 if there are no WebSockets', async () => {
    const off = await start(hello, { PROXY_MAX_WEBSOCKETS: '0' });
    expect(await upgrade(off)).toMatchObject({
      status: 426,
      body: { error: { code: 'websocket_not_supported' } },
    });
  });

  it('beyond the limit gets 503, and another key takes the place of an idle one', async () => {
    const keys = { PROXY_API_KEY: 'sk-test-key-0123456789,sk-other-key-0123456789' };
    const small = await start(hello, { ...keys, PROXY_MAX_WEBSOCKETS: '2' });
    const [first, second] = [await openSocket(small), await openSocket(small)];
    expect(await upgrade(small)).toMatchObject({
      status: 503,
      body: { error: { code: 'server_overloaded' } },
    });
    await first.create({ input: 'Hi' });
    const other = await openSocket({ ...small, key: 'sk-other-key-0123456789' });
    // The one that was used is not the longest idle.
    expect(await second.closed).toMatchObject({ code: 1013 });
    expect(await first.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    expect(await other.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    first.ws.close();
    other.ws.close();
  });

  it('whose client leaves while it waits for a place does not get one', async () => {
    const keys = { PROXY_API_KEY: 'sk-test-key-0123456789,sk-other-key-0123456789' };
    const answered = Promise.withResolvers<void>();
    const small = await start(says([{ wait: answered.promise }, { text: 'Done.' }]), {
      ...keys,
      PROXY_MAX_WEBSOCKETS: '2',
    });
    const busy = [await openSocket(small), await openSocket(small)];
    const answers = busy.map((socket) => socket.create({ input: 'Hi' }));
    await until(() => small.model.requests.length === 2);
    const authorization = 'Bearer sk-other-key-0123456789';
    const leaving = request(`${small.url}/v1/responses`, { headers: { ...UPGRADE, authorization } });
    leaving.on('error', () => {}).end();
    await until(() => small.app.answersUnderWay() === 3);
    leaving.destroy();
    const left = () => small.log.find(({ msg, status }) => msg === 'request' && status === 499);
    await until(() => left() !== undefined);
    expect(left()).toMatchObject({ method: 'GET', route: '/v1/responses' });
    answered.resolve();
    expect(await Promise.all(answers)).toMatchObject([
      { type: 'response.completed' },
      { type: 'response.completed' },
    ]);
    // A place is free again for the next one.
    const next = await openSocket({ ...small, key: 'sk-other-key-0123456789' });
    for (const socket of [...busy, next]) socket.ws.close();
  });

  it('has what its client sent before the answer', async () => {
    const client = connect(Number(new URL(proxy.url).port), '127.0.0.1');
    const head = Object.entries({ ...UPGRADE, host: 'x', authorization: `Bearer ${proxy.key}` });
    const lines = ['GET /v1/responses HTTP/1.1', ...head.map(([name, value]) => `${name}: ${value}`), '', ''];
    client.write(lines.join('\r\n'));
    // A frame of a text, masked with zeros.
    const text = Buffer.from(JSON.stringify({ type: 'response.create', model: 'gpt-5.5', input: 'Hi' }));
    client.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text]));
    let received = '';
    client.on('data', (chunk) => (received += chunk.toString()));
    await until(() => received.includes('response.completed'));
    expect(received).toContain('101 Switching Protocols');
    client.destroy();
  });
});
