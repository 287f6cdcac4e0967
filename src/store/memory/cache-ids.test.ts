import { describe, expect, it, vi } from 'vitest';

import { fakeMemoryStore, type FakeMemoryStore } from '../../../test/support/memory-store.ts';
import { CacheIds } from './cache-ids.ts';
import { MemoryAccess } from './memory-access.ts';

const HOUR_MS = 60 * 60_000;
const TTL_MS = 24 * HOUR_MS;

const opened = () => {
  let now = Date.UTC(2026, 10);
  let minted = 0;
  const clock = { now: () => now };
  const memory = fakeMemoryStore(clock);
  const errors: unknown[] = [];
  /** Another instance, or the same one after a restart. */
  const start = (store: FakeMemoryStore | null = memory, max?: number): CacheIds =>
    new CacheIds({
      store:
        store === null
          ? null
          : {
              memory: store,
              access: new MemoryAccess({ clock, onTrouble: (error) => errors.push(error) }),
              ttlMs: TTL_MS,
            },
      ...(max === undefined ? {} : { max }),
      clock,
      mint: () => `id-${(minted += 1)}`,
    });
  return { memory, errors, start, pass: (ms: number) => (now += ms) };
};

describe('the id of a conversation', () => {
  it('differs between accounts, and stays when a conversation returns to one', async () => {
    const { start } = opened();
    const [a, b] = [start().of('a'), start().of('b')];
    const [ofA, ofB] = [await a.idOf('talk'), await b.idOf('talk')];
    expect(ofA).not.toBe(ofB);
    expect([await a.idOf('talk'), await b.idOf('talk')]).toEqual([ofA, ofB]);
  });

  it('is the same for all its turns, after a restart, and on another instance', async () => {
    const { memory, start } = opened();
    const first = start();
    expect([await first.idOf('a'), await first.idOf('b'), await first.idOf('a')]).toEqual([
      'id-1',
      'id-2',
      'id-1',
    ]);
    await first.settled();
    const second = start();
    expect([await second.idOf('a'), await second.idOf('b')]).toEqual(['id-1', 'id-2']);
    await second.settled();
    expect(memory.calls.filter((call) => call.startsWith('get'))).toHaveLength(4);
  });

  it('is the same for turns that begin together', async () => {
    const { memory, start } = opened();
    const ids = start();
    expect(await Promise.all([ids.idOf('a'), ids.idOf('a')])).toEqual(['id-1', 'id-1']);
    await ids.settled();
    expect(memory.calls).toEqual(['get cache-id 1', 'claim cache-id 1']);
  });

  it('is that of the faster instance from the second turn on', async () => {
    const { start } = opened();
    const [one, other] = [start(), start()];
    expect(await Promise.all([one.idOf('a'), other.idOf('a')])).toEqual(['id-1', 'id-2']);
    await Promise.all([one.settled(), other.settled()]);
    expect([await one.idOf('a'), await other.idOf('a'), await start().idOf('a')]).toEqual([
      'id-1',
      'id-1',
      'id-1',
    ]);
  });

  it('lives as long as its conversation is used, even by one instance only', async () => {
    const { start, pass } = opened();
    const ids = start();
    const first = await ids.idOf('a');
    for (let turn = 0; turn < 10; turn += 1) {
      await ids.settled();
      pass(TTL_MS / 2);
      expect(await ids.idOf('a')).toBe(first);
    }
    await ids.settled();
    pass(TTL_MS - 1);
    expect(await start().idOf('a')).toBe(first);
    pass(TTL_MS);
    expect(await start().idOf('a')).not.toBe(first);
  });

  it('is not written again with every turn', async () => {
    const { memory, start } = opened();
    const ids = start();
    for (let turn = 0; turn < 10; turn += 1) await ids.idOf('a');
    await ids.settled();
    expect(memory.calls).toEqual(['get cache-id 1', 'claim cache-id 1']);
  });
});

describe('without a store', () => {
  it('is kept in memory, for a limited number of conversations', async () => {
    const { memory, start } = opened();
    const ids = start(null, 2);
    expect([
      await ids.idOf('a'),
      await ids.idOf('b'),
      await ids.idOf('a'),
      await ids.idOf('c'),
      await ids.idOf('a'),
      await ids.idOf('b'),
    ]).toEqual(['id-1', 'id-2', 'id-1', 'id-3', 'id-1', 'id-4']);
    expect(memory.calls).toEqual([]);
  });
});

describe('a store that fails', () => {
  it('gets the ids when it is back', async () => {
    const { memory, errors, start, pass } = opened();
    memory.mode = 'down';
    const ids = start();
    expect([await ids.idOf('a'), await ids.idOf('b'), await ids.idOf('a')]).toEqual(['id-1', 'id-2', 'id-1']);
    await ids.settled();
    memory.mode = 'up';
    pass(60_000);
    expect(await ids.idOf('a')).toBe('id-1');
    await ids.settled();
    expect(await start().idOf('a')).toBe('id-1');
    // One for reads, one for writes.
    expect(errors).toHaveLength(2);
  });

  it('delays the first turn for a moment only', async () => {
    vi.useFakeTimers();
    try {
      const { memory, start } = opened();
      memory.mode = 'silent';
      const asked = start().idOf('a');
      await vi.advanceTimersByTimeAsync(250);
      expect(await asked).toBe('id-1');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not given more and more to write', async () => {
    const { memory, start } = opened();
    memory.mode = 'up';
    const ids = start();
    const never = vi.spyOn(memory, 'claim').mockReturnValue(new Promise(() => {}));
    for (let index = 0; index < 1_100; index += 1) await ids.idOf(`c${index}`);
    expect(never).toHaveBeenCalledTimes(1_000);
  });
});
