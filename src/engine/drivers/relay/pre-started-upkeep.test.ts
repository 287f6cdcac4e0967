import { afterEach, describe, expect, it, vi } from 'vitest';

import { settled } from '../../../../test/support/fake-pool.ts';
import { MINUTE, preStarting, tell } from '../../../../test/support/pre-starting.ts';
import { freshThread } from './carrier.ts';

afterEach(() => {
  vi.useRealTimers();
});

type Setup = ReturnType<typeof preStarting>;
/** So many requests begin at once, and the first one is answered. */
const burst = async ({ turns, worker, ask }: Setup, slug: string, size: number): Promise<void> => {
  for (let nth = 0; nth < size; nth += 1) await ask(slug);
  turns.prepare(worker.lease, slug, 'one');
  await settled();
};
const ended = ({ turns, worker }: Setup, slug: string, size: number): void => {
  for (let nth = 0; nth < size; nth += 1) turns.ended(worker.lease, slug, null);
};

describe('as many turns are pre-started', () => {
  it('as requests ran at once in the last minute', async () => {
    const all = preStarting();
    await burst(all, 'gpt-5.5', 3);
    expect(all.worker.threadsOf('turn/start')).toEqual(['thread-1', 'thread-2', 'thread-3']);
    // They are there already, however often one is answered.
    all.turns.prepare(all.worker.lease, 'gpt-5.5', 'other');
    await settled();
    expect(all.worker.threadsOf('turn/start')).toHaveLength(3);
    ended(all, 'gpt-5.5', 3);
    all.clock.nowMs = MINUTE + 1;
    for (let nth = 0; nth < 3; nth += 1) {
      await burst(all, 'gpt-5.5', 1);
      ended(all, 'gpt-5.5', 1);
    }
    // One at a time: only the last request has one made for the next.
    expect(all.worker.threadsOf('turn/start')).toHaveLength(4);
    expect(all.noted).toEqual({ fates: ['used', 'used', 'used'], misses: 3, waiting: [1, 2, 3, 2, 1, 0, 1] });
  });

  it('as are allowed at most, for each model', async () => {
    const all = preStarting(2);
    await burst(all, 'gpt-5.5', 3);
    await burst(all, 'gpt-6', 3);
    expect(all.noted.waiting.at(-1)).toBe(4);
  });

  it('as none, if none are allowed', async () => {
    const all = preStarting(0);
    await burst(all, 'gpt-5.5', 3);
    await all.turns.warm(all.another().appServer);
    all.turns.refresh();
    expect(all.worker.calls).toEqual([]);
    expect(all.noted).toEqual({ fates: [], misses: 0, waiting: [] });
    // Threads are used again nevertheless.
    const thread = { ...freshThread('thread-9', 'gpt-5.5'), caller: 'one', turns: 1 };
    all.turns.ended(all.worker.lease, 'gpt-5.5', thread);
    expect(await all.ask('gpt-5.5')).toBe(thread);
  });

  it('as none, if the worker is being replaced', async () => {
    const all = preStarting();
    all.worker.isCurrent = false;
    await burst(all, 'gpt-5.5', 1);
    expect(all.worker.calls).toEqual([]);
  });

  it('as 32 on one worker: a kind without one takes the place of the oldest, and no more', async () => {
    const all = preStarting(16);
    await burst(all, 'a', 16);
    await burst(all, 'b', 16);
    expect([all.noted.waiting.at(-1), all.noted.fates]).toEqual([32, []]);
    await burst(all, 'c', 2);
    expect([all.noted.waiting.at(-1), all.noted.fates]).toEqual([32, ['dropped']]);
    expect(all.worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
    // All of them are wanted, and none is dropped for another.
    for (const slug of ['a', 'b', 'c']) all.turns.prepare(all.worker.lease, slug, 'one');
    await settled();
    expect(all.worker.threadsOf('turn/start')).toHaveLength(33);
  });

  it('as 32, even while they are being started', async () => {
    const all = preStarting(16);
    const started = Promise.withResolvers<void>();
    all.worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    for (const slug of ['a', 'b', 'c']) {
      for (let nth = 0; nth < 16; nth += 1) void all.ask(slug);
      all.turns.prepare(all.worker.lease, slug, 'one');
    }
    expect([all.noted.waiting.at(-1), all.noted.fates]).toEqual([32, []]);
    await settled();
    started.resolve();
    await settled();
    // Closed as soon as it has started.
    expect([all.noted.fates, all.worker.threadsOf('thread/unsubscribe')]).toEqual([
      ['dropped'],
      ['thread-1'],
    ]);
  });
});

describe('a new worker', () => {
  it('prepares a turn of the expected kind before the first request, and only then', async () => {
    const { turns, worker, another, ask, noted } = preStarting(8, 'gpt-5.5');
    await turns.warm(worker.appServer);
    expect(noted.waiting).toEqual([1]);
    await ask('gpt-5.6-luna');
    const next = another();
    await turns.warm(next.appServer);
    const started = next.calls.filter(([method]) => method === 'thread/start');
    expect(started.map(([, params]) => params)).toMatchObject([{ model: 'gpt-5.6-luna' }]);
  });

  it('has a turn of each kind in use before it takes over', async () => {
    const all = preStarting();
    for (const slug of ['a', 'b', 'c', 'd', 'e']) await all.ask(slug);
    const next = all.another();
    await all.turns.warm(next.appServer);
    const started = next.calls.filter(([method]) => method === 'thread/start');
    expect(started.map(([, params]) => (params as { model: string }).model)).toEqual(['e', 'd', 'c', 'b']);
    expect(next.threadsOf('turn/start')).toHaveLength(4);
    expect(all.noted.waiting.at(-1)).toBe(4);
    // Its first lease finds them.
    expect(all.taken(await all.turns.take(next.lease, 'e', 'one'))).toBe('thread-1');
    expect(all.noted.fates).toEqual(['used']);
  });

  it('has none of kinds that were not used for 30 minutes, or never', async () => {
    const all = preStarting();
    const next = all.another();
    await all.turns.warm(next.appServer);
    await all.ask('a');
    all.clock.nowMs = 30 * MINUTE;
    await all.turns.warm(next.appServer);
    expect([next.calls, all.noted.waiting]).toEqual([[], []]);
  });

  it('is not held up by a start that fails', async () => {
    const all = preStarting();
    await all.ask('a');
    const next = all.another();
    next.beforeAnswer = () => Promise.reject(new Error('refused'));
    await all.turns.warm(next.appServer);
    expect(all.noted).toEqual({ fates: ['failed'], misses: 1, waiting: [1, 0] });
  });

  it('is held up for 2 seconds at most', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const all = preStarting();
    await all.ask('a');
    const next = all.another();
    const started = Promise.withResolvers<void>();
    next.beforeAnswer = () => started.promise;
    const warmed = all.turns.warm(next.appServer);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(await tell(warmed.then(() => 'warm'))).toBe('waits');
    await vi.advanceTimersByTimeAsync(1);
    expect(await warmed).toBeUndefined();
    // What was begun continues.
    started.resolve();
    expect(all.taken(await all.turns.take(next.lease, 'a', 'one'))).toBe('thread-1');
  });

  it('keeps its turns until it takes over, and loses them if it exits before', async () => {
    const all = preStarting();
    await all.ask('a');
    const [next, failing] = [all.another(), all.another()];
    await all.turns.warm(next.appServer);
    await all.turns.warm(failing.appServer);
    failing.exit();
    await settled();
    all.turns.refresh();
    expect([all.noted.fates, all.noted.waiting.at(-1)]).toEqual([['failed'], 1]);
    expect(all.taken(await all.turns.take(next.lease, 'a', 'one'))).toBe('thread-1');
  });
});

describe('the upkeep', () => {
  it('replaces turns that are too old, or whose credentials expire, and no others', async () => {
    const all = preStarting();
    await burst(all, 'gpt-5.5', 2);
    all.clock.nowMs = 5 * MINUTE - 1;
    Object.assign(all.relay.turns[1] ?? {}, { expiresAtMs: all.clock.nowMs + MINUTE });
    all.turns.refresh();
    await settled();
    expect([all.noted.fates, all.worker.threadsOf('thread/unsubscribe')]).toEqual([
      ['expired'],
      ['thread-2'],
    ]);
    expect(all.worker.threadsOf('turn/start')).toEqual(['thread-1', 'thread-2', 'thread-3']);
    all.clock.nowMs += 1;
    all.turns.refresh();
    await settled();
    expect(all.noted.fates).toEqual(['expired', 'expired']);
    expect(all.worker.threadsOf('thread/unsubscribe')).toEqual(['thread-2', 'thread-1']);
    expect([all.noted.waiting.at(-1), all.taken(await all.ask('gpt-5.5'))]).toEqual([2, 'thread-3']);
  });

  it('does not replace more than may be needed', async () => {
    const all = preStarting();
    await burst(all, 'gpt-5.5', 3);
    ended(all, 'gpt-5.5', 3);
    all.clock.nowMs = 5 * MINUTE;
    all.turns.refresh();
    await settled();
    expect([all.noted.fates, all.noted.waiting.at(-1)]).toEqual([['expired', 'expired', 'expired'], 1]);
  });

  it('leaves turns that are being started', async () => {
    const all = preStarting();
    all.worker.beforeAnswer = () => Promise.withResolvers<void>().promise;
    await burst(all, 'gpt-5.5', 1);
    all.clock.nowMs = 5 * MINUTE;
    all.turns.refresh();
    await settled();
    expect(all.noted).toEqual({ fates: [], misses: 1, waiting: [1] });
  });

  it('forgets kinds that were not used for 30 minutes', async () => {
    const all = preStarting();
    await burst(all, 'gpt-5.5', 1);
    for (let minutes = 5; minutes <= 40; minutes += 5) {
      all.clock.nowMs = minutes * MINUTE;
      all.turns.refresh();
      await settled();
    }
    // At 5, 10, 15, 20 and 25 minutes there was another one.
    expect(all.noted.fates).toEqual(Array.from({ length: 6 }, () => 'expired'));
    expect([all.worker.threadsOf('turn/start').length, all.noted.waiting.at(-1)]).toEqual([6, 0]);
    expect(all.worker.threadsOf('thread/unsubscribe')).toHaveLength(6);
  });

  it('closes threads that were not used for 5 minutes', () => {
    const { turns, clock, worker, idle } = preStarting();
    turns.ended(worker.lease, 'gpt-5.5', freshThread('thread-8', 'gpt-5.5'));
    clock.nowMs = 1;
    turns.ended(worker.lease, 'gpt-5.5', freshThread('thread-9', 'gpt-5.5'));
    clock.nowMs = 5 * MINUTE + 1;
    turns.refresh();
    expect([worker.threadsOf('thread/unsubscribe'), idle().at(-1)]).toEqual([['thread-8'], 1]);
  });

  it('closes everything of a worker that is being replaced, and touches no other', async () => {
    const all = preStarting();
    const { turns, worker, noted, idle } = all;
    const next = all.another();
    await burst(all, 'gpt-5.5', 2);
    turns.ended(worker.lease, 'gpt-5.5', freshThread('thread-9', 'gpt-5.5'));
    await turns.warm(next.appServer);
    expect([noted.waiting.at(-1), idle().at(-1)]).toEqual([3, 1]);
    worker.isCurrent = false;
    turns.refresh();
    await settled();
    expect([noted.waiting.at(-1), idle().at(-1), noted.fates.length]).toEqual([1, 0, 2]);
    expect(worker.threadsOf('thread/unsubscribe').toSorted()).toEqual(['thread-1', 'thread-2', 'thread-9']);
    expect(worker.watched()).toEqual([]);
    expect(next.threadsOf('thread/unsubscribe')).toEqual([]);
    // Nothing remembers it.
    const asked = vi.spyOn(worker.lease, 'isCurrent');
    turns.refresh();
    expect(asked).not.toHaveBeenCalled();
    // A request that still runs there can end.
    turns.ended(worker.lease, 'gpt-5.5', freshThread('thread-10', 'gpt-5.5'));
    expect(worker.threadsOf('thread/unsubscribe')).toContain('thread-10');
  });

  it('has nothing to do without a worker', () => {
    const { turns, noted } = preStarting();
    turns.refresh();
    expect(noted).toEqual({ fates: [], misses: 0, waiting: [] });
  });
});
