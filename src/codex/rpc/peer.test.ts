import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { overloadDelayMs } from './calls.ts';
import { ConnectionClosed, RequestTimeout, RpcError } from './errors.ts';
import { linkedTransports } from '../../../test/support/memory-transport.ts';
import { createPeer, type PeerRequest } from './peer.ts';

const RETRY = { attempts: 2, firstDelayMs: 100, maxDelayMs: 150 };

const setUp = () => {
  const [ours, theirs] = linkedTransports();
  const sent: unknown[] = [];
  const heard: unknown[] = [];
  const requests: PeerRequest[] = [];
  theirs.onMessage((line) => sent.push(JSON.parse(line)));
  const peer = createPeer(
    ours,
    {
      onRequest: (request) => requests.push(request),
      onNotification: (method, params) => heard.push({ method, params }),
      onMalformed: (reason) => heard.push({ malformed: reason }),
      onClose: (cause) => heard.push({ closed: cause }),
    },
    { requestTimeoutMs: 1_000, overloadRetry: RETRY, random: () => 1 },
  );
  const answer = async (...lines: readonly unknown[]): Promise<void> => {
    for (const line of lines) theirs.send(typeof line === 'string' ? line : JSON.stringify(line));
    await vi.advanceTimersByTimeAsync(0);
  };
  return { peer, theirs, sent, heard, requests, answer };
};

const OVERLOADED = { code: -32_001, message: 'busy' };

describe('createPeer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('matches answers to requests in any order', async () => {
    const { peer, sent, answer } = setUp();
    const both = Promise.all([peer.request('a', { n: 1 }), peer.request('b', null)]);
    await answer({ id: 2, result: 'for b' }, { id: 1, result: 'for a' });
    expect([await both, sent]).toEqual([
      ['for a', 'for b'],
      [
        { id: 1, method: 'a', params: { n: 1 } },
        { id: 2, method: 'b', params: null },
      ],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends long messages whole, in slices, and skips cancelled ones', async () => {
    vi.useRealTimers();
    const { peer, theirs, sent } = setUp();
    const items = Array.from({ length: 10 }, (_, index) => ({ index, text: 'é"\uD83D'.repeat(3_000) }));
    const long = peer.request('a', { items });
    const short = peer.request('b', 1);
    expect(sent).toEqual([]);
    await expect.poll(() => sent).toHaveLength(2);
    theirs.send('{"id":2,"result":"for b"}');
    theirs.send('{"id":1,"result":"for a"}');
    expect(await Promise.all([long, short])).toEqual(['for a', 'for b']);
    const params = { items: items.map(({ index, text }) => ({ index, text: text.toWellFormed() })) };
    expect(sent).toEqual([
      { id: 2, method: 'b', params: 1 },
      { id: 1, method: 'a', params },
    ]);
    const failed = peer.request('c', { items }).catch((error: unknown) => error);
    peer.close();
    expect(await failed).toBeInstanceOf(ConnectionClosed);
    await expect.poll(() => sent).toHaveLength(2);
  });

  it("rejects with the server's error", async () => {
    const { peer, answer } = setUp();
    const failed = peer.request('a', {}).catch((error: unknown) => error);
    await answer({ id: 1, error: { code: -32_600, message: 'no such thread', data: [1] } });
    const error = await failed;
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({ code: -32_600, message: 'no such thread', data: [1] });
  });

  it('retries an overloaded server with back-off, and gives up after the last attempt', async () => {
    const { peer, sent, answer } = setUp();
    const failed = peer.request('a', {}).catch((error: unknown) => error);
    const sentAfter: number[] = [];
    for (const wait of [100, 150]) {
      await answer({ id: 1, error: OVERLOADED });
      await vi.advanceTimersByTimeAsync(wait - 1);
      sentAfter.push(sent.length);
      await vi.advanceTimersByTimeAsync(1);
      sentAfter.push(sent.length);
    }
    await answer({ id: 1, error: OVERLOADED });
    expect([sentAfter, sent.every((line) => JSON.stringify(line) === JSON.stringify(sent[0]))]).toEqual([
      [1, 2, 2, 3],
      true,
    ]);
    expect(await failed).toMatchObject({ code: -32_001 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('accepts the answer to a retry', async () => {
    const { peer, answer } = setUp();
    const result = peer.request('a', {});
    await answer({ id: 1, error: OVERLOADED });
    await vi.advanceTimersByTimeAsync(100);
    await answer({ id: 1, result: 'now' });
    expect(await result).toBe('now');
  });

  it('bounds every wait, and does not report a late answer as invalid', async () => {
    const { peer, heard, answer } = setUp();
    const errors = [peer.request('a', {}), peer.request('b', {}, { timeoutMs: 10 })].map((call) =>
      call.catch((error: unknown) => error),
    );
    await vi.advanceTimersByTimeAsync(10);
    const [, short] = errors;
    expect(await short).toEqual(new RequestTimeout('b', 10));
    await vi.advanceTimersByTimeAsync(990);
    expect(await errors[0]).toEqual(new RequestTimeout('a', 1_000));
    await answer({ id: 1, result: 'late' });
    expect([heard, vi.getTimerCount()]).toEqual([[], 0]);
  });

  it('waits longer for a long message, and for the messages after it', async () => {
    const { peer, sent, answer } = setUp();
    const settled: unknown[] = [];
    const ask = (method: string, params: unknown): void =>
      void peer.request(method, params).catch((error: unknown) => settled.push(error));
    ask('long', 'x'.repeat(1024 * 1024));
    while (sent.length === 0) await setImmediate();
    ask('behind', {});
    await vi.advanceTimersByTimeAsync(2_900);
    expect(settled).toEqual([]);
    await answer({ id: 1, result: null });
    ask('after', {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(settled).toEqual([new RequestTimeout('behind', 1_000), new RequestTimeout('after', 1_000)]);
  });

  it('rejects all current and later calls and waiting retries when the connection ends', async () => {
    const { peer, theirs, heard, answer } = setUp();
    const waiting = [peer.request('a', {}), peer.request('b', {})].map((call) =>
      call.catch((error: unknown) => error),
    );
    await answer({ id: 2, error: OVERLOADED });
    theirs.close();
    const errors = await Promise.all([...waiting, peer.request('c', {}).catch((error: unknown) => error)]);
    expect([errors.every((error) => error instanceof ConnectionClosed), heard, vi.getTimerCount()]).toEqual([
      true,
      [{ closed: null }],
      0,
    ]);
  });

  it('delivers notifications, and requests that are answered once', async () => {
    const { peer, heard, requests, sent, answer } = setUp();
    await answer(
      { method: 'news', params: { n: 1 } },
      { id: 'q1', method: 'ask', params: {} },
      { id: 7, method: 'ask', params: {} },
    );
    requests[0]?.respond({ yes: true });
    requests[0]?.reject({ code: 1, message: 'too late' });
    requests[1]?.reject({ code: -32_603, message: 'no' });
    peer.notify('initialized');
    await answer();
    expect([heard, sent]).toEqual([
      [{ method: 'news', params: { n: 1 } }],
      [
        { id: 'q1', result: { yes: true } },
        { id: 7, error: { code: -32_603, message: 'no' } },
        { method: 'initialized' },
      ],
    ]);
  });

  it('reports garbage and continues', async () => {
    const { peer, heard, answer } = setUp();
    const result = peer.request('a', {});
    await answer('garbage', { id: 99, result: 1 }, { id: 'odd', error: { code: 1, message: '' } });
    await answer({ id: 1, result: 'fine' });
    expect([await result, heard]).toEqual([
      'fine',
      [
        { malformed: 'not JSON' },
        { malformed: 'an answer to no request' },
        { malformed: 'an answer to no request' },
      ],
    ]);
  });
});

describe('overloadDelayMs', () => {
  it('doubles up to its limit; half of the delay is random', () => {
    const retry = { attempts: 9, firstDelayMs: 50, maxDelayMs: 300 };
    expect(
      [0, 1, 2, 3, 4].map((attempt) => [0, 1].map((random) => overloadDelayMs(retry, attempt, random))),
    ).toEqual([
      [25, 50],
      [50, 100],
      [100, 200],
      [150, 300],
      [150, 300],
    ]);
  });
});
