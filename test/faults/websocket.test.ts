import { once } from 'node:events';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';

import { textIn } from '../../src/kit/json/json.ts';
import { isEnd, isType, openSocket } from '../support/client-socket.ts';
import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { closeForGood, eventually, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startWatchedProxy(scripts.hello);
});
afterEach(() => expectSound(proxy));
afterAll(() => closeForGood(proxy));

const howItEnded = async (at: TestProxy): Promise<string | null> =>
  eventually(
    () => at.model.requests.at(-1)?.ending ?? null,
    (ending) => ending !== null,
  );

const TEXT = 'All of it. '.repeat(250_000);
/** 16 MB in several texts. */
const muchText = scripts.says(Array.from({ length: 6 }, () => ({ text: TEXT, chunkSize: 16_384 })));

describe('a client that does not read', () => {
  it('gets all of its answer when it reads again', async () => {
    proxy.use(muchText);
    const socket = await openSocket(proxy);
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Much.' });
    await socket.next(isType('response.output_text.delta'));
    socket.ws.pause();
    // Nothing waits for the client, and nothing is lost.
    expect([await howItEnded(proxy), proxy.app.answersUnderWay()]).toEqual(['finished', 1]);
    socket.ws.resume();
    const end = await socket.next(isEnd);
    const deltas = socket.events.filter(isType('response.output_text.delta'));
    const text = deltas.map((event) => textIn(event, 'delta')).join('');
    expect([end['type'], text === TEXT.repeat(6)]).toEqual(['response.completed', true]);
    socket.ws.close();
  });
});

describe('a client that is gone', () => {
  it.each([
    ['without a close frame', (ws: WebSocket) => ws.terminate()],
    ['with one', (ws: WebSocket) => ws.close()],
  ])('%s ends its turns and the model requests', async (_, leave) => {
    proxy.use(scripts.hangMidStream);
    const socket = await openSocket(proxy);
    for (const lane of ['a', 'b']) {
      socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Hi', stream_id: lane });
      await socket.next(isType('response.output_text.delta'));
    }
    leave(socket.ws);
    expect(await howItEnded(proxy)).toBe('aborted');
    await until(() => proxy.app.answersUnderWay() === 0);
  });
});

describe('an app-server that is killed', () => {
  it('in the middle of an answer fails the answer, and the connection goes on', async () => {
    proxy.use(scripts.hangMidStream);
    const socket = await openSocket(proxy);
    socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Hi', store: false });
    await socket.next(isType('response.output_text.delta'));
    const worker = proxy.app.workers().find(({ state }) => state === 'ready');
    process.kill(worker?.pid ?? 0, 'SIGKILL');
    expect(await socket.next(isEnd)).toMatchObject({
      type: 'response.failed',
      response: { error: { message: 'The app-server stopped while it was answering.' } },
    });
    proxy.use(scripts.hello);
    expect(await socket.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    socket.ws.close();
  });
});

it('a hundred connections at once all get their answers', async () => {
  proxy.use(scripts.hello);
  const sockets = await Promise.all(Array.from({ length: 100 }, () => openSocket(proxy)));
  const ends = await Promise.all(sockets.map((socket) => socket.create({ input: 'Hi', store: false })));
  expect(new Set(ends.map(({ type }) => type))).toEqual(new Set(['response.completed']));
  for (const { ws } of sockets) ws.close();
  await Promise.all(sockets.map(({ closed }) => closed));
});

it('thousands of messages that are not requests are answered, and hold up no other client', async () => {
  proxy.use(scripts.hello);
  const [noisy, quiet] = [await openSocket(proxy), await openSocket(proxy)];
  for (let count = 0; count < 5_000; count += 1) noisy.send('{}');
  expect(await quiet.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
  await until(() => noisy.events.length === 5_000);
  expect(new Set(noisy.events.map(({ type }) => type))).toEqual(new Set(['error']));
  noisy.ws.close();
  quiet.ws.close();
});

it('frames that break the protocol close the connection', async () => {
  const socket = await openSocket(proxy);
  // A frame of the client has to be masked.
  const raw = (socket.ws as unknown as { readonly _socket: NodeJS.WritableStream })._socket;
  raw.write(Buffer.from([0x81, 0x02, 0x7b, 0x7d]));
  expect(await socket.closed).toMatchObject({ code: 1002 });
  const next = new WebSocket(`${proxy.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${proxy.key}` },
  });
  await once(next, 'open');
  next.close();
});
