import { once } from 'node:events';
import { connect } from 'node:net';

import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';

import { textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { idOf, isEnd, isType, openSocket, responseOf, UPGRADE } from '../support/client-socket.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { hangMidStream, hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const proxy = await openProxy(hello, { PROXY_MAX_BODY_BYTES: '200000' });
const start = freshProxies();

describe('a message that is not a request', () => {
  const deep = '['.repeat(200) + ']'.repeat(200);

  it.each([
    ['not JSON', '{"type":', 'invalid_json', null],
    ['too deep', `{"type":"response.create","x":${deep}}`, 'invalid_json', null],
    ['not an object', '[]', 'invalid_type', null],
    ['without a type', '{}', 'missing_required_parameter', 'type'],
    ['of an unknown type', '{"type":"response.cancel"}', 'invalid_value', 'type'],
    ['for a response that waits', '{"type":"response.inject"}', 'unsupported_value', 'type'],
    ['with a type that is a number', '{"type":7}', 'invalid_type', 'type'],
    [
      'in a lane without a name',
      '{"type":"response.create","stream_id":""}',
      'invalid_stream_id',
      'stream_id',
    ],
    [
      'in a lane with a bad name',
      '{"type":"response.create","stream_id":"a b"}',
      'invalid_stream_id',
      'stream_id',
    ],
    ['without a model', '{"type":"response.create","input":"Hi"}', 'missing_required_parameter', 'model'],
    [
      'for the background',
      '{"type":"response.create","model":"m","input":"Hi","background":true}',
      'unsupported_value',
      'background',
    ],
    [
      'that generates something else',
      '{"type":"response.create","model":"m","input":"Hi","generate":"no"}',
      'invalid_type',
      'generate',
    ],
    [
      'that steers nothing',
      '{"type":"response.steer"}',
      'missing_required_parameter',
      'previous_response_id',
    ],
  ])('(%s) gets an error, and the connection stays open', async (_, message, code, param) => {
    const socket = await openSocket(proxy);
    socket.send(message);
    const error = await socket.next(isType('error'));
    expect(error).toEqual({
      type: 'error',
      status: 400,
      error: {
        type: 'invalid_request_error',
        code,
        message: expect.any(String),
        param,
        headers: { 'x-request-id': expect.stringMatching(/^req_\w+\.1$/) },
      },
      headers: { 'x-request-id': expect.stringMatching(/^req_\w+\.1$/) },
    });
    expect(await socket.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    socket.ws.close();
  });

  it('(binary) gets an error, and the connection stays open', async () => {
    const socket = await openSocket(proxy);
    socket.ws.send(Buffer.from('{"type":"response.create"}'), { binary: true });
    expect(await socket.next(isType('error'))).toMatchObject({
      status: 400,
      error: { code: 'invalid_json' },
    });
    expect(await socket.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    socket.ws.close();
  });

  it('(too large) gets an error, and the connection is closed', async () => {
    const socket = await openSocket(proxy);
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'x'.repeat(300_000) });
    expect(await socket.next(isType('error'))).toMatchObject({
      status: 413,
      error: { code: 'request_too_large', message: 'The message is larger than the 200000 bytes allowed.' },
    });
    expect(await socket.closed).toMatchObject({ code: 1009 });
  });
});

describe('lanes', () => {
  it('run side by side, and each in its order', async () => {
    const socket = await openSocket(proxy);
    proxy.use(({ body }, connection) =>
      (JSON.stringify(body).includes('Wait') ? hangMidStream : hello)({ body } as never, connection),
    );
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Wait', stream_id: 'slow' });
    await socket.next(
      (event) => event['stream_id'] === 'slow' && isType('response.output_text.delta')(event),
    );
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Next', stream_id: 'slow' });
    for (const lane of ['a-1', undefined, 'b.2']) {
      const end = await socket.create({ input: 'Hi', ...(lane === undefined ? {} : { stream_id: lane }) });
      expect([end['type'], end['stream_id']]).toEqual(['response.completed', lane]);
    }
    expect(socket.events.filter(isType('response.created')).map((event) => event['stream_id'])).toEqual([
      'slow',
      'a-1',
      undefined,
      'b.2',
    ]);
    socket.ws.close();
    proxy.use(hello);
  });

  it('without names run one after the other', async () => {
    const socket = await openSocket(proxy);
    for (const input of ['One', 'Two', 'Three']) {
      socket.send({ type: 'response.create', model: 'gpt-5.5', input, metadata: { input } });
    }
    await Promise.all([1, 2, 3].map(() => socket.next(isEnd)));
    const metadata = (event: JsonObject): string =>
      textIn(responseOf(event)['metadata'] as JsonObject, 'input');
    const order = socket.events.filter((event) => isType('response.created')(event) || isEnd(event));
    expect(order.map((event) => `${textIn(event, 'type')} ${metadata(event)}`)).toEqual(
      ['One', 'Two', 'Three'].flatMap((input) => [
        `response.created ${input}`,
        `response.completed ${input}`,
      ]),
    );
    socket.ws.close();
  });

  it('have at most 32 names, and at most 256 requests that wait', async () => {
    const socket = await openSocket(proxy);
    proxy.use(hangMidStream);
    for (let lane = 0; lane < 33; lane += 1) {
      socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Hi', stream_id: `lane-${lane}` });
    }
    expect(await socket.next(isType('error'))).toMatchObject({
      status: 400,
      error: { code: 'websocket_stream_limit_reached', param: 'stream_id' },
      stream_id: 'lane-32',
    });
    // 16 run, and 16 wait.
    for (let count = 0; count < 241; count += 1) {
      socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Hi', stream_id: 'lane-0' });
    }
    expect(await socket.next(isType('error'))).toMatchObject({
      status: 429,
      error: { code: 'concurrency_limit' },
      stream_id: 'lane-0',
    });
    await until(() => socket.events.filter(isType('response.created')).length === 16);
    socket.ws.close();
    await until(() => proxy.app.answersUnderWay() === 0);
    proxy.use(hello);
  });
});

describe('a connection', () => {
  it('accepts no requests after its time, and closes when the running ones have ended', async () => {
    const maxAgeMs = 1_500;
    const isOver = Promise.withResolvers<void>();
    const short = await start(
      async (request, connection) => {
        await isOver.promise;
        await hello(request, connection);
      },
      {},
      { times: { socketMaxAgeMs: maxAgeMs } },
    );
    const socket = await openSocket(short);
    const openedAt = performance.now();
    const running = socket.create({ input: 'Hi', stream_id: 'a' });
    await until(() => short.model.activeRequests() === 1 && performance.now() > openedAt + maxAgeMs);
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Hi', stream_id: 'b' });
    expect(await running).toMatchObject({
      type: 'error',
      status: 400,
      stream_id: 'b',
      error: {
        type: 'invalid_request_error',
        code: 'websocket_connection_limit_reached',
        message:
          'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
      },
    });
    isOver.resolve();
    expect(await socket.next(isEnd)).toMatchObject({ type: 'response.completed', stream_id: 'a' });
    expect(await socket.closed).toMatchObject({ code: 1000 });
  });

  it('is closed if it is idle', async () => {
    const short = await start(hello, { PROXY_WEBSOCKET_IDLE_TIMEOUT_MS: '300' });
    const socket = await openSocket(short);
    await socket.create({ input: 'Hi' });
    expect(await socket.closed).toEqual({ code: 1000, reason: 'The connection was idle.' });
    await until(() => short.log.some(({ msg }) => msg === 'websocket closed'));
    expect(short.log.find(({ msg }) => msg === 'websocket closed')).toMatchObject({
      route: '/v1/responses',
      code: 1000,
      requests: 1,
      trouble: null,
    });
  });

  it('is pinged, and cut if there is no answer', async () => {
    const short = await start(hello, {}, { times: { socketPingMs: 100 } });
    const [alive, dead] = [await openSocket(short), await openSocket(short)];
    let pings = 0;
    alive.ws.on('ping', () => {
      pings += 1;
    });
    // It does not even read.
    dead.ws.pause();
    const lines = (): number => short.log.filter(({ msg }) => msg === 'websocket closed').length;
    await until(() => lines() === 1 && pings > 2);
    expect(short.log.findLast(({ msg }) => msg === 'websocket closed')).toMatchObject({ code: 1006 });
    expect(await alive.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    alive.ws.close();
    dead.ws.terminate();
  });

  it('is cut if its client does not read', async () => {
    const text = 'All of it. '.repeat(250_000);
    const much = says(Array.from({ length: 6 }, () => ({ text, chunkSize: 16_384 })));
    const short = await start(much, {}, { stallMs: 500 });
    const socket = await openSocket(short);
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Much.' });
    await socket.next(isType('response.output_text.delta'));
    socket.ws.pause();
    await until(() => short.log.some(({ msg }) => msg === 'websocket closed'));
    expect(short.log.find(({ msg }) => msg === 'websocket closed')).toMatchObject({ code: 1006 });
    await until(() => short.app.answersUnderWay() === 0);
    socket.ws.terminate();
  });

  it('ends its responses when the client leaves', async () => {
    proxy.use(hangMidStream);
    const socket = await openSocket(proxy, { headers: { 'x-request-id': 'leaving' } });
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Hi' });
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Later' });
    await socket.next(isType('response.output_text.delta'));
    socket.ws.terminate();
    await until(() => proxy.app.answersUnderWay() === 0);
    const lines = proxy.log.filter(({ requestId }) => String(requestId).startsWith('leaving'));
    expect(
      lines.map(({ requestId, status, outcome }) => [requestId, status ?? null, outcome ?? null]),
    ).toEqual([
      ['leaving', 101, null],
      ['leaving.2', 499, null],
      ['leaving', null, null],
      ['leaving.1', 200, 'abandoned'],
    ]);
    proxy.use(hello);
  });

  it('whose message does not arrive to its end is closed', async () => {
    const short = await start(hello, { PROXY_UPLOAD_IDLE_TIMEOUT_MS: '300' });
    const socket = await openSocket(short);
    const { port } = new URL(short.url);
    const raw = connect(Number(port), '127.0.0.1');
    const lines = Object.entries({ ...UPGRADE, host: 'x', authorization: `Bearer ${short.key}` });
    raw.write(
      `GET /v1/responses HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    );
    await once(raw, 'data');
    // A text frame of 100 bytes, of which 10 arrive.
    raw.write(Buffer.concat([Buffer.from([0x81, 0x80 | 100, 1, 2, 3, 4]), Buffer.alloc(10)]));
    const [chunk] = (await once(raw, 'data')) as [Buffer];
    expect(chunk.toString()).toContain('"status":408');
    raw.destroy();
    expect(await socket.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    socket.ws.close();
  });

  it('is counted, and so are its requests by their transport', async () => {
    const socket = await openSocket(proxy);
    const count = async (name: string): Promise<number> => {
      const text = await (await proxy.get('/metrics')).text();
      return Number(new RegExp(`^${name.replaceAll(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
    };
    expect(await count('proxy_client_websockets')).toBe(1);
    const before = await count('proxy_turn_requests_total{transport="websocket"}');
    idOf(await socket.create({ input: 'Hi', store: false }));
    expect(await count('proxy_turn_requests_total{transport="websocket"}')).toBe(before + 1);
    expect(await count('proxy_client_websocket_memory_bytes')).toBeGreaterThan(0);
    socket.ws.close();
    await until(async () => (await count('proxy_client_websockets')) === 0);
    expect(await count('proxy_client_websocket_memory_bytes')).toBe(0);
    expect(socket.ws.readyState).toBeGreaterThanOrEqual(WebSocket.CLOSING);
  });
});
