import { describe, expect, it } from 'vitest';

import { GIVEN_UP, fakeWorker } from '../../../../test/support/carriers.ts';
import { settled } from '../../../../test/support/fake-pool.ts';
import { MINUTE, preStarting, tell } from '../../../../test/support/pre-starting.ts';
import { Carrier, freshThread, type CarrierThread } from './carrier.ts';
import { plainPlan } from './carrier-plans.ts';
import { IdleThreads, RecentKinds } from './pre-started-turns.ts';

describe('a pre-started turn', () => {
  it('is made while another one is answered, and given once', async () => {
    const { turns, worker, noted, ask, taken } = preStarting();
    // The first request finds nothing.
    const first = await ask('gpt-5.5');
    expect([taken(first), noted]).toEqual([null, { fates: [], misses: 1, waiting: [] }]);
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    const second = await ask('gpt-5.5');
    const third = await ask('gpt-5.5');
    expect([taken(second), taken(third)]).toEqual(['thread-1', null]);
    expect(noted).toEqual({ fates: ['used'], misses: 2, waiting: [1, 0] });
    expect(worker.threadsOf('turn/start')).toEqual(['thread-1']);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual([]);
  });

  it('is for its model only, and for its worker', async () => {
    const { turns, worker, another, ask, taken } = preStarting();
    const other = another();
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect([
      taken(await ask('gpt-6')),
      taken(await turns.take(other.lease, 'gpt-5.5', 'one')),
      taken(await ask('gpt-5.5')),
    ]).toEqual([null, null, 'thread-1']);
  });

  it('is for any caller if its thread is new', async () => {
    const { turns, worker, ask, taken } = preStarting();
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(taken(await ask('gpt-5.5', 'other'))).toBe('thread-1');
  });

  it('is for one caller only if its thread has carried turns of that one', async () => {
    const { turns, worker, ask, taken } = preStarting();
    turns.ended(worker.lease, 'gpt-5.5', { ...freshThread('of-one', 'gpt-5.5'), caller: 'one', turns: 1 });
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(worker.threadsOf('turn/start')).toEqual(['of-one']);
    expect([taken(await ask('gpt-5.5', 'other')), taken(await ask('gpt-5.5', ''))]).toEqual([null, null]);
    // It does not count as one for the other caller, and is the first for its own.
    turns.prepare(worker.lease, 'gpt-5.5', 'other');
    await settled();
    expect(worker.threadsOf('turn/start')).toEqual(['of-one', 'thread-1', 'thread-2']);
    expect(taken(await ask('gpt-5.5', 'other'))).toBe('thread-1');
    expect(taken(await ask('gpt-5.5', 'one'))).toBe('of-one');
    expect(taken(await ask('gpt-5.5', 'one'))).toBe('thread-2');
  });

  it('is the own one of the caller before one for all', async () => {
    const { turns, worker, ask, taken } = preStarting();
    for (let nth = 0; nth < 2; nth += 1) await ask('gpt-5.5');
    turns.prepare(worker.lease, 'gpt-5.5', 'other');
    await settled();
    expect(taken(await ask('gpt-5.5'))).toBe('thread-1');
    turns.ended(worker.lease, 'gpt-5.5', { ...freshThread('of-one', 'gpt-5.5'), caller: 'one', turns: 1 });
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(taken(await ask('gpt-5.5'))).toBe('of-one');
    expect(taken(await ask('gpt-5.5'))).toBe('thread-2');
  });

  it('is awaited while it is being made, by one request', async () => {
    const { turns, worker, ask, taken, noted } = preStarting();
    const started = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    const first = ask('gpt-5.5');
    expect(taken(await ask('gpt-5.5'))).toBeNull();
    expect(await tell(first)).toBe('waits');
    started.resolve();
    expect(taken(await first)).toBe('thread-1');
    expect(noted).toEqual({ fates: ['used'], misses: 1, waiting: [1, 0] });
  });

  it('is not awaited if another one is ready', async () => {
    const { turns, worker, ask, taken } = preStarting();
    for (let nth = 0; nth < 2; nth += 1) await ask('gpt-5.5');
    const started = [Promise.withResolvers<void>().promise, Promise.resolve()];
    worker.beforeAnswer = async (method) => {
      if (method === 'turn/start') await started.shift();
    };
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(taken(await ask('gpt-5.5'))).toBe('thread-2');
  });

  it('is replaced by a new start if it fails while it is awaited', async () => {
    const { turns, worker, ask, taken, noted } = preStarting();
    const started = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    const asked = ask('gpt-5.5');
    started.reject(new Error('refused'));
    expect(taken(await asked)).toBeNull();
    expect(noted).toMatchObject({ misses: 1, waiting: [1, 0] });
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });
});

describe('a turn that can carry another request', () => {
  /** A turn whose first request has ended, and which was not to end with it. */
  const kept = async (world: ReturnType<typeof preStarting>, slug = 'm', caller = 'one') => {
    const { turns, worker, planDeps } = world;
    const carrier = await Carrier.start(plainPlan(worker.appServer, slug, null, planDeps));
    carrier.thread.caller = caller;
    turns.ended(worker.lease, slug, carrier);
    return carrier;
  };

  it('is for its caller and its model only', async () => {
    const world = preStarting();
    const carrier = await kept(world);
    expect(await world.ask('another model')).toBeNull();
    expect(await world.ask('m', 'two')).toBeNull();
    expect(await world.ask('m')).toBe(carrier);
    expect(await world.ask('m')).toBeNull();
  });

  it('is given before others once its model request has arrived', async () => {
    const world = preStarting();
    const { worker, relay } = world;
    const [first, second] = [await kept(world), await kept(world)];
    Object.assign(relay.turns[0] ?? {}, { isReady: false });
    expect([await world.ask('m'), await world.ask('m')]).toEqual([second, first]);
    expect(worker.calls.map(([method]) => method)).not.toContain('turn/interrupt');
  });

  it('is enough: no other is started for its caller', async () => {
    const world = preStarting();
    await kept(world);
    world.turns.prepare(world.worker.lease, 'm', 'one');
    await settled();
    expect(world.worker.threadsOf('turn/start')).toEqual(['thread-1']);
  });

  it('is one of 32: the one that waits longest is ended', async () => {
    const world = preStarting();
    for (let nth = 0; nth < 33; nth += 1) await kept(world);
    await settled();
    expect(world.worker.threadsOf('turn/interrupt')).toEqual(['thread-1']);
    expect([world.noted.waiting.at(-1), world.noted.fates.at(-1)]).toEqual([32, 'dropped']);
  });

  it('makes room for those that any caller can use', async () => {
    const world = preStarting();
    const { turns, worker, ask, noted } = world;
    // Two requests of each caller at once.
    await Promise.all([ask('m', 'last'), ask('m', 'last')]);
    for (let nth = 0; nth < 32; nth += 1) await kept(world, 'm', `caller-${nth}`);
    for (let again = 0; again < 2; again += 1) {
      turns.prepare(worker.lease, 'm', 'last');
      await settled();
    }
    expect(worker.threadsOf('turn/interrupt')).toEqual(['thread-1', 'thread-2']);
    // They stay: of those that were kept, the one that waits longest is ended.
    await kept(world, 'm', 'last');
    await settled();
    expect(worker.threadsOf('turn/interrupt')).toEqual(['thread-1', 'thread-2', 'thread-3']);
    noted.misses = 0;
    const taken = await Promise.all(['new', 'newer', 'caller-3'].map((caller) => ask('m', caller)));
    expect([taken.map((one) => world.taken(one)), noted.misses]).toEqual([
      ['thread-33', 'thread-34', 'thread-4'],
      0,
    ]);
  });

  it('is forgotten if the app-server ends it', async () => {
    const world = preStarting();
    await kept(world);
    world.worker.complete('thread-1');
    await settled();
    expect([await world.ask('m'), world.noted.fates]).toEqual([null, ['failed']]);
  });

  it('is ended if its worker is being replaced, or it has waited for 5 minutes', async () => {
    const world = preStarting();
    await kept(world);
    world.clock.nowMs += 5 * MINUTE;
    world.turns.refresh();
    await settled();
    expect(world.worker.threadsOf('turn/interrupt')).toEqual(['thread-1']);
    world.worker.isCurrent = false;
    await kept(world);
    await settled();
    expect(world.worker.threadsOf('turn/interrupt')).toEqual(['thread-1', 'thread-2']);
  });
});

describe('a thread without a turn', () => {
  it('is given to its caller if no turn waits', async () => {
    const { turns, worker, ask, noted } = preStarting();
    const thread = { ...freshThread('thread-9', 'gpt-5.5'), caller: 'one', turns: 1 };
    turns.ended(worker.lease, 'gpt-5.5', thread);
    expect([await ask('gpt-5.5', 'other'), await ask('gpt-6')]).toEqual([null, null]);
    expect(await ask('gpt-5.5')).toBe(thread);
    expect([await ask('gpt-5.5'), noted.misses]).toEqual([null, 4]);
  });

  it('carries the next pre-started turn of its caller', async () => {
    const { turns, worker, ask, taken } = preStarting();
    await ask('gpt-5.5');
    turns.ended(worker.lease, 'gpt-5.5', {
      ...freshThread('thread-9', 'gpt-5.5'),
      caller: 'one',
      turns: 1,
    });
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(worker.calls.map(([method]) => method)).toEqual(['thread/inject_items', 'turn/start']);
    expect(taken(await ask('gpt-5.5'))).toBe('thread-9');
  });

  it('is closed if its worker is being replaced', () => {
    const { turns, worker, idle } = preStarting();
    worker.isCurrent = false;
    turns.ended(worker.lease, 'gpt-5.5', freshThread('thread-9', 'gpt-5.5'));
    expect([worker.threadsOf('thread/unsubscribe'), idle().at(-1)]).toEqual([['thread-9'], 0]);
  });
});

describe('a pre-started turn that cannot be used', () => {
  const made = async () => {
    const all = preStarting();
    all.turns.prepare(all.worker.lease, 'gpt-5.5', 'one');
    await settled();
    return all;
  };

  it('is too old after 5 minutes', async () => {
    const { clock, worker, ask, taken, noted } = await made();
    clock.nowMs = 5 * MINUTE;
    expect(taken(await ask('gpt-5.5'))).toBeNull();
    expect(noted).toEqual({ fates: ['expired'], misses: 1, waiting: [1, 0] });
    await settled();
    expect(worker.threadsOf('turn/interrupt')).toEqual(['thread-1']);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('is old enough just before', async () => {
    const { clock, ask, taken, noted } = await made();
    clock.nowMs = 5 * MINUTE - 1;
    expect([taken(await ask('gpt-5.5')), noted.fates]).toEqual(['thread-1', ['used']]);
  });

  it.each([
    [MINUTE, ['expired']],
    [MINUTE + 1, ['used']],
  ])('needs credentials for more than a minute: %d ms', async (left, fates) => {
    const { clock, relay, worker, ask, noted } = await made();
    clock.nowMs = 1_000;
    Object.assign(relay.turns[0] ?? {}, { expiresAtMs: 1_000 + left });
    await ask('gpt-5.5');
    await settled();
    const closed = fates[0] === 'expired' ? ['thread-1'] : [];
    expect([noted.fates, worker.threadsOf('thread/unsubscribe')]).toEqual([fates, closed]);
  });

  it.each([
    ['its worker exits', (all: ReturnType<typeof preStarting>) => all.worker.exit(), []],
    [
      'codex sends another model request',
      (all: ReturnType<typeof preStarting>) => all.relay.turns[0]?.expected.onLost(),
      ['thread-1'],
    ],
    [
      'codex ends it',
      (all: ReturnType<typeof preStarting>) => all.worker.complete('thread-1', 'failed'),
      ['thread-1'],
    ],
  ])('is dropped when %s', async (_, end, closed) => {
    const all = await made();
    end(all);
    await settled();
    expect(all.noted).toEqual({ fates: ['failed'], misses: 0, waiting: [1, 0] });
    expect(all.worker.threadsOf('thread/unsubscribe')).toEqual(closed);
    expect(all.relay.turns[0]?.done).toEqual(['started turn-1', 'refused']);
    expect(all.taken(await all.ask('gpt-5.5'))).toBeNull();
  });

  it('is not given in the moment in which it is lost', async () => {
    const { relay, worker, ask, taken, noted } = await made();
    relay.turns[0]?.expected.onLost();
    expect(taken(await ask('gpt-5.5'))).toBeNull();
    await settled();
    expect(noted).toEqual({ fates: ['failed'], misses: 1, waiting: [1, 0] });
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('could not be started', async () => {
    const { turns, worker, ask, taken, noted } = preStarting();
    worker.beforeAnswer = () => Promise.reject(new Error('refused'));
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(noted).toEqual({ fates: ['failed'], misses: 0, waiting: [1, 0] });
    expect(taken(await ask('gpt-5.5'))).toBeNull();
  });

  it('was lost while it was being started', async () => {
    const { turns, worker, relay, noted } = preStarting();
    worker.beforeAnswer = async (method) => {
      if (method === 'turn/start') relay.turns[0]?.expected.onLost();
    };
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(noted).toEqual({ fates: ['failed'], misses: 0, waiting: [1, 0] });
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('is not counted twice if it is used before it is over', async () => {
    const { worker, ask, taken, noted } = await made();
    const one = await ask('gpt-5.5');
    expect(taken(one)).toBe('thread-1');
    worker.complete('thread-1');
    if (one !== null && 'end' in one) await one.end(GIVEN_UP);
    await settled();
    expect(noted).toEqual({ fates: ['used'], misses: 0, waiting: [1, 0] });
  });
});

describe('threads without a turn', () => {
  const thread = (nth: number, different: Partial<CarrierThread> = {}): CarrierThread => ({
    ...freshThread(`thread-${nth}`, 'gpt-5.5'),
    caller: 'one',
    turns: 1,
    ...different,
  });

  const started = () => {
    const worker = fakeWorker();
    const sizes: number[] = [];
    const idle: IdleThreads = new IdleThreads(worker.appServer, () => sizes.push(idle.size));
    return { worker, idle, sizes };
  };

  it('are given once, the one that was used last first', () => {
    const { worker, idle, sizes } = started();
    const all = [thread(1), thread(2)];
    for (const one of all) idle.add(one, 0);
    expect([idle.size, worker.watched()]).toEqual([2, ['thread-1', 'thread-2']]);
    expect(idle.take('gpt-5.5', 'one')).toBe(all[1]);
    expect(worker.watched()).toEqual(['thread-1']);
    expect(idle.take('gpt-5.5', 'one')).toBe(all[0]);
    expect([idle.take('gpt-5.5', 'one'), idle.size, worker.watched()]).toEqual([null, 0, []]);
    expect(sizes).toEqual([1, 2, 1, 0]);
    // They continue to be used: nothing was closed.
    expect(worker.calls).toEqual([]);
  });

  it('are for the same caller and model only', () => {
    const { idle } = started();
    idle.add(thread(1), 0);
    expect([idle.take('gpt-5.5', 'other'), idle.take('gpt-6', 'one'), idle.size]).toEqual([null, null, 1]);
  });

  it('are for no caller if they have carried none', () => {
    const { idle } = started();
    idle.add(thread(1, { caller: null }), 0);
    expect([idle.take('gpt-5.5', ''), idle.take('gpt-5.5', 'null')]).toEqual([null, null]);
  });

  it('are forgotten when their worker exits, and not for another signal', () => {
    const { worker, idle, sizes } = started();
    idle.add(thread(1), 0);
    idle.add(thread(2), 0);
    worker.complete('thread-1');
    worker.send('thread-1', { kind: 'tool-call', params: {}, respond() {} });
    expect(idle.size).toBe(2);
    worker.exit();
    expect([idle.take('gpt-5.5', 'one'), sizes, worker.calls]).toEqual([null, [1, 2, 1, 0], []]);
  });

  it('are closed if they have waited too long', () => {
    const { worker, idle, sizes } = started();
    idle.add(thread(1), 10);
    idle.add(thread(2), 20);
    idle.closeOlderThan(20);
    // No turn runs, so there is nothing to interrupt.
    expect(worker.calls).toEqual([['thread/unsubscribe', { threadId: 'thread-1' }]]);
    expect([sizes, worker.watched()]).toEqual([[1, 2, 1], ['thread-2']]);
    idle.closeWhere(() => true);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1', 'thread-2']);
    expect([idle.take('gpt-5.5', 'one'), worker.watched()]).toEqual([null, []]);
  });

  it('are at most 32: the oldest is closed', () => {
    const { worker, idle } = started();
    for (let nth = 1; nth <= 34; nth += 1) idle.add(thread(nth), 0);
    expect([idle.size, worker.threadsOf('thread/unsubscribe')]).toEqual([32, ['thread-1', 'thread-2']]);
    expect(worker.watched()).toHaveLength(32);
  });

  it('may fail to be closed', async () => {
    const { worker, idle } = started();
    worker.beforeAnswer = () => Promise.reject(new Error('gone'));
    idle.add(thread(1), 0);
    idle.closeOlderThan(Infinity);
    // A rejection that no one handles would fail this file.
    await settled();
    expect([idle.size, worker.threadsOf('thread/unsubscribe')]).toEqual([0, ['thread-1']]);
  });
});

describe('recent kinds', () => {
  const started = () => {
    const clock = { nowMs: 0, now: () => clock.nowMs };
    return { kinds: new RecentKinds(clock), clock };
  };

  /** So many requests at once, all of which have ended. */
  const burst = (kinds: RecentKinds, slug: string, size: number): void => {
    for (let nth = 0; nth < size; nth += 1) kinds.began(slug);
    for (let nth = 0; nth < size; nth += 1) kinds.ended(slug);
  };

  describe('the number of requests that may come at once', () => {
    it('is one for a kind that is not known', () => {
      expect(started().kinds.wanted('a')).toBe(1);
    });

    it('is the most that ran at once, for each kind', () => {
      const { kinds } = started();
      burst(kinds, 'a', 3);
      burst(kinds, 'a', 2);
      kinds.began('b');
      kinds.ended('b');
      kinds.began('b');
      expect([kinds.wanted('a'), kinds.wanted('b')]).toEqual([3, 1]);
    });

    it('includes requests that still run', () => {
      const { kinds } = started();
      kinds.began('a');
      kinds.began('a');
      kinds.ended('a');
      kinds.began('a');
      kinds.began('a');
      expect(kinds.wanted('a')).toBe(3);
    });

    it('is that of the last minute', () => {
      const { kinds, clock } = started();
      burst(kinds, 'a', 3);
      clock.nowMs = MINUTE;
      burst(kinds, 'a', 1);
      expect(kinds.wanted('a')).toBe(3);
      clock.nowMs += 1;
      burst(kinds, 'a', 2);
      expect(kinds.wanted('a')).toBe(2);
    });

    it('is that of the requests that still run if none began in the last minute', () => {
      const { kinds, clock } = started();
      burst(kinds, 'a', 3);
      clock.nowMs = MINUTE;
      expect(kinds.wanted('a')).toBe(3);
      clock.nowMs += 1;
      expect(kinds.wanted('a')).toBe(1);
      for (let nth = 0; nth < 2; nth += 1) kinds.began('a');
      clock.nowMs = 3 * MINUTE;
      expect(kinds.wanted('a')).toBe(2);
    });

    it('remains for another minute if it is reached again', () => {
      const { kinds, clock } = started();
      burst(kinds, 'a', 3);
      clock.nowMs = MINUTE;
      burst(kinds, 'a', 3);
      clock.nowMs = 2 * MINUTE;
      burst(kinds, 'a', 1);
      expect(kinds.wanted('a')).toBe(3);
    });
  });

  describe('the kinds in use', () => {
    it('are those of the last 30 minutes', () => {
      const { kinds, clock } = started();
      expect([kinds.isInUse('a'), kinds.inUse()]).toEqual([false, []]);
      kinds.began('a');
      clock.nowMs = 30 * MINUTE - 1;
      expect([kinds.isInUse('a'), kinds.inUse()]).toEqual([true, ['a']]);
      kinds.began('b');
      clock.nowMs += 1;
      expect([kinds.isInUse('a'), kinds.isInUse('b'), kinds.inUse()]).toEqual([false, true, ['b']]);
      kinds.began('a');
      expect(kinds.inUse()).toEqual(['a', 'b']);
    });

    it('are at most four, the latest first', () => {
      const { kinds } = started();
      for (const slug of ['a', 'b', 'c', 'd', 'e', 'b']) kinds.began(slug);
      expect(kinds.inUse()).toEqual(['b', 'e', 'd', 'c']);
      expect(kinds.isInUse('a')).toBe(true);
    });

    it('are forgotten if there are very many, the first used first', () => {
      const { kinds } = started();
      const slugs = Array.from({ length: 256 }, (_, index) => `m${index}`);
      for (const slug of slugs) kinds.began(slug);
      kinds.began('m0');
      expect(slugs.filter((slug) => !kinds.isInUse(slug))).toEqual([]);
      kinds.began('one more');
      expect(slugs.filter((slug) => !kinds.isInUse(slug))).toEqual(['m1']);
      // Its request ends later.
      kinds.ended('m1');
      expect([kinds.isInUse('m1'), kinds.wanted('m1')]).toEqual([false, 1]);
    });
  });
});
