import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { readSse, type SseFrame } from '../support/sse.ts';
import { ASK, endOf, sendHalf, sendRaw, textIn } from './client.ts';
import { closeForGood, eventually, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startWatchedProxy(scripts.hello);
});
afterEach(() => expectSound(proxy));
afterAll(() => closeForGood(proxy));

/** Waits until the model is answering this many requests. */
const modelIsAt = (count: number): Promise<number> =>
  eventually(
    () => proxy.model.activeRequests(),
    (active) => active === count,
  );

const howItEnded = async (): Promise<string | null> =>
  eventually(
    () => proxy.model.requests.at(-1)?.ending ?? null,
    (ending) => ending !== null,
  );

describe('a client that disconnects', () => {
  it('in the middle of a stream ends its turn and the model request', async () => {
    proxy.use(scripts.hangMidStream);
    const client = sendRaw(proxy, { ...ASK, stream: true });
    const response = await client.response;
    const frames: SseFrame[] = [];
    for await (const frame of readSse(response)) {
      frames.push(frame);
      if (textIn(frames) === 'Wait for') break;
    }
    client.destroy();
    expect([textIn(frames), await howItEnded()]).toEqual(['Wait for', 'aborted']);
  });

  it.each([
    ['while the model is silent', scripts.hang, true],
    ['while the model is silent, without a stream', scripts.hang, false],
    ['before the model has sent a status', scripts.hangBeforeHeaders, true],
    ['before the model has sent a status, without a stream', scripts.hangBeforeHeaders, false],
    ['in the middle of an answer without `stream`', scripts.hangMidStream, false],
  ] as const)('%s ends its turn and the model request', async (_, script, stream) => {
    proxy.use(script);
    const client = sendRaw(proxy, { ...ASK, stream });
    const active = await modelIsAt(1);
    client.destroy();
    expect([active, await howItEnded()]).toEqual([1, 'aborted']);
  });

  it('before its turn has begun leaves none behind', async () => {
    proxy.use(scripts.hang);
    for (const delayMs of [0, 1, 3, 6, 10, 15, 20, 25]) {
      const client = sendRaw(proxy, { ...ASK, stream: true });
      await sleep(delayMs);
      client.destroy();
    }
    expect(await modelIsAt(0)).toBe(0);
  });

  it('while it sends its request does not reach the model', async () => {
    const before = proxy.model.requests.length;
    const socket = await sendHalf(proxy);
    const lines = proxy.log.length;
    socket.destroy();
    // The request has ended when its line is in the log.
    const logged = await eventually(
      () => proxy.log.slice(lines).filter((line) => line['msg'] === 'request').length,
      (count) => count === 1,
    );
    expect([logged, proxy.model.requests.length - before]).toEqual([1, 0]);
  });

  it('a hundred times at once leaves nothing behind', async () => {
    proxy.use(scripts.hangMidStream);
    const clients = Array.from({ length: 100 }, (_, index) =>
      sendRaw(proxy, { ...ASK, stream: index % 2 === 0 }),
    );
    const active = await eventually(
      () => proxy.model.activeRequests(),
      (count) => count >= 50,
    );
    for (const client of clients) client.destroy();
    expect([active >= 50, await modelIsAt(0)]).toEqual([true, 0]);
  });
});

describe('a client that reads slowly', () => {
  it('gets the whole text when it finally reads', async () => {
    const count = 60_000;
    proxy.use(scripts.longText(count));
    const response = await sendRaw(proxy, { ...ASK, stream: true }).response;
    const ending = await howItEnded();
    const frames: SseFrame[] = [];
    for await (const frame of readSse(response)) frames.push(frame);
    const text = Array.from({ length: count }, (_, index) => `word${String(index)} `).join('');
    expect([ending, textIn(frames) === text, endOf(frames)]).toEqual([
      'finished',
      true,
      { last: ['response.output_item.done', 'response.completed', 'done'], error: undefined },
    ]);
  });

  it('and never finishes: its turn ends at the limit of an answer although it stays connected, and memory is bounded', async () => {
    const sent = { bytes: 0 };
    proxy.use(torrent(sent, 150 * MB));
    const client = sendRaw(proxy, { ...ASK, stream: true });
    await client.response;
    const before = process.memoryUsage().rss;
    let peak = before;
    const ended = await eventually(
      () => {
        peak = Math.max(peak, process.memoryUsage().rss);
        return {
          ending: proxy.model.requests.at(-1)?.ending,
          leases: proxy.app.workers().reduce((sum, worker) => sum + worker.leases, 0),
        };
      },
      ({ ending, leases }) => ending === 'aborted' && leases === 0,
    );
    client.destroy();
    expect(ended).toEqual({ ending: 'aborted', leases: 0 });
    // 32 MB unread, twice, and some 20 MB in buffers; the whole text several times would be far more.
    expect(sent.bytes).toBeLessThan(150 * MB);
    expect(peak - before).toBeLessThan(300 * MB);
  });
});

const MB = 1024 * 1024;

/** A text of deltas of 4 KiB, generated while it is sent, so that the model itself holds nothing. */
const torrent =
  (sent: { bytes: number }, maxBytes: number): Script =>
  async (_request, connection) => {
    const delta = 'x'.repeat(4096);
    const item = {
      id: 'msg_torrent',
      type: 'message',
      role: 'assistant',
      status: 'in_progress',
      content: [],
    };
    connection.event({ type: 'response.created', response: { id: 'resp_torrent' } });
    connection.event({ type: 'response.output_item.added', output_index: 0, item });
    while (sent.bytes < maxBytes && !connection.closed) {
      connection.event({
        type: 'response.output_text.delta',
        item_id: item.id,
        output_index: 0,
        content_index: 0,
        delta,
      });
      sent.bytes += delta.length;
      await connection.flush();
    }
    await connection.hang();
  };
