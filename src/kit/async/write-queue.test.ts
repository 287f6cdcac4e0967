import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { WriteQueue, type WriteQueueOptions } from './write-queue.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const away = new Error('away');
const broken = new Error('broken');

/** A queue of texts, each with its first character as its key. The store takes 10 ms. */
const queueOf = (different: Partial<WriteQueueOptions<string>> = {}) => {
  /** What happened, and when. */
  const diary: string[] = [];
  const note = (what: string): number => diary.push(`${performance.now()} ${what}`);
  /** What the store answers from now on. */
  const store = { error: null as Error | null, takesMs: 10 };
  const queue = new WriteQueue<string>({
    async write(items) {
      note(items.join(' '));
      await new Promise((resolve) => {
        setTimeout(resolve, store.takesMs);
      });
      if (store.error !== null) throw store.error;
    },
    delayMs: 100,
    perWrite: 2,
    atOnce: 1,
    max: 5,
    retries: (error) => error === away,
    onError: (error) => note(`error ${(error as Error).message}`),
    onLost: (items, error) => note(`lost ${items.join(' ')} ${(error as Error).message}`),
    ...different,
  });
  const put = (...items: readonly string[]): readonly boolean[] =>
    items.map((item) => queue.put(item.slice(0, 1), item));
  return { queue, diary, store, put };
};

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('WriteQueue', () => {
  it.each<{
    name: string;
    options?: Partial<WriteQueueOptions<string>>;
    items: readonly string[];
    expected: readonly string[];
  }>([
    { name: 'collects items before it writes them', items: ['a', 'b'], expected: ['100 a b'] },
    {
      name: 'writes batches one after the other',
      items: ['a', 'b', 'c', 'd', 'e'],
      expected: ['100 a b', '110 c d', '120 e'],
    },
    {
      name: 'writes some batches at the same time',
      options: { perWrite: 1, atOnce: 3 },
      items: ['a', 'b', 'c', 'd'],
      expected: ['100 a', '100 b', '100 c', '110 d'],
    },
    { name: 'writes the newest item of a key', items: ['a1', 'b1', 'a2'], expected: ['100 b1 a2'] },
    {
      name: 'is bounded by sizes',
      options: { sizeOf: (item) => item.length },
      items: ['aaa', 'bbb', 'cc', 'a'],
      expected: ['100 cc a'],
    },
  ])('$name', async ({ options, items, expected }) => {
    const { diary, put } = queueOf(options);
    put(...items);
    await pass(1_000);
    expect(diary).toEqual(expected);
  });

  it('refuses an item without a place, but not one that replaces another', async () => {
    const { put, diary } = queueOf();
    expect(put('a', 'b', 'c', 'd', 'e', 'f', 'a2')).toEqual([true, true, true, true, true, false, true]);
    await pass(105);
    // What is being written still has its place.
    expect(put('f')).toEqual([false]);
    await pass(1_000);
    expect(put('f')).toEqual([true]);
    await pass(1_000);
    expect(diary).toEqual(['100 b c', '110 d e', '120 a2', '1205 f']);
  });

  it('writes an item again that was replaced during its write, and then never two of a key at a time', async () => {
    const { put, diary } = queueOf();
    put('a1');
    await pass(105);
    put('a2');
    await pass(1_000);
    expect(diary).toEqual(['100 a1', '210 a2']);
  });

  it('tries again with growing pauses, with what was put meanwhile, and reports each trouble once', async () => {
    const { put, diary, store } = queueOf();
    store.error = away;
    put('a');
    await pass(500);
    put('b');
    await pass(7_000);
    store.error = null;
    await pass(5_000);
    store.error = away;
    put('c');
    await pass(200);
    expect(diary).toEqual([
      '100 a',
      '110 error away',
      '360 a',
      '870 a b',
      '1880 a b',
      '3890 a b',
      '7900 a b',
      '12600 c',
      '12610 error away',
    ]);
  });

  it('gives up what cannot be written, and writes the rest', async () => {
    const { put, diary, store } = queueOf();
    store.error = broken;
    put('a', 'b', 'c');
    await pass(115);
    store.error = null;
    await pass(1_000);
    expect(diary).toEqual(['100 a b', '110 error broken', '110 lost a b broken', '110 c']);
  });

  it('gives up what has failed too often, and tries the newer items again', async () => {
    const { put, diary, store } = queueOf({ retries: (_, failures) => failures < 2 });
    store.error = away;
    put('a');
    await pass(200);
    put('b');
    await pass(200);
    store.error = null;
    await pass(1_000);
    expect(diary).toEqual(['100 a', '110 error away', '360 a b', '370 lost a away', '870 b']);
  });

  it('loses what fails if nothing is tried again', async () => {
    const write = vi.fn<() => Promise<void>>().mockRejectedValue(away);
    const queue = new WriteQueue<string>({ write, delayMs: 0, perWrite: 1, atOnce: 1, max: 1 });
    queue.put('a', 'a');
    await pass(10_000);
    expect([write.mock.calls, queue.put('b', 'b')]).toEqual([[[['a']]], true]);
  });
});

describe('flush', () => {
  it('writes what was put before, also during a write', async () => {
    const { queue, put, diary } = queueOf();
    put('a');
    const first = queue.flush();
    await pass(5);
    put('b');
    const both = Promise.all([queue.flush(), queue.flush()]);
    await pass(20);
    await Promise.all([first, both]);
    await queue.flush();
    expect(diary).toEqual(['0 a', '10 b']);
  });

  it('rejects if something has to be tried again', async () => {
    const { queue, put, store } = queueOf();
    store.error = away;
    put('a');
    await Promise.all([expect(queue.flush()).rejects.toBe(away), pass(10)]);
    store.error = broken;
    await Promise.all([expect(queue.flush()).resolves.toBeUndefined(), pass(10)]);
  });
});

describe('close', () => {
  it.each<{
    name: string;
    takesMs?: number;
    backAtMs: number;
    delayMs?: number;
    lost: readonly string[];
    tookMs: number;
  }>([
    { name: 'writes what waits', backAtMs: 0, lost: [], tookMs: 10 },
    { name: 'tries again while there is time', backAtMs: 500, lost: [], tookMs: 250 + 500 + 30 },
    { name: 'returns what is left', backAtMs: Infinity, lost: ['a', 'b', 'c'], tookMs: 1_790 },
    {
      name: 'does not wait for a try that is too late',
      backAtMs: 1,
      delayMs: 2_000,
      lost: ['a', 'b', 'c'],
      tookMs: 10,
    },
    {
      name: 'does not wait for a silent store',
      takesMs: 10_000,
      backAtMs: 0,
      lost: ['a', 'b', 'c'],
      tookMs: 2_000,
    },
  ])('$name', async ({ takesMs = 10, backAtMs, delayMs = 100, lost, tookMs }) => {
    const { queue, put, store } = queueOf({ perWrite: 5, delayMs });
    store.takesMs = takesMs;
    store.error = backAtMs === 0 ? null : away;
    if (backAtMs < Infinity) setTimeout(() => (store.error = null), backAtMs + 11);
    put('a', 'b', 'c');
    const closed = queue.close(2_000).then((left) => ({ left, tookMs: performance.now() }));
    await pass(20_000);
    expect(await closed).toEqual({ left: lost, tookMs });
    expect(vi.getTimerCount()).toBe(0);
  });
});
