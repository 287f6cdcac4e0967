import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  Limiter,
  type LimiterOptions,
  type GateState,
  type Permit,
  type Rank,
  Slots,
  FairLine,
} from './limiter.ts';

describe('Limiter', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 0 }));
  afterEach(() => void vi.useRealTimers());

  const never = new AbortController().signal;

  /** A limiter, and a log of admissions and rejections. */
  const limiterOf = (different: Partial<LimiterOptions> = {}) => {
    const states: GateState[] = [];
    const waits: number[] = [];
    const limiter = new Limiter({
      capacity: 2,
      maxWaiting: 4,
      waitMs: 30_000,
      clock: { now: () => Date.now() },
      refuse: (why, seconds) => new Error(`${why}, ${seconds} s`),
      onChange: (state) => states.push(state),
      onWaited: (ms) => waits.push(ms),
      ...different,
    });
    const diary: string[] = [];
    const permits = new Map<string, Permit>();
    /** "a1" belongs to the key "a". */
    const come = async (name: string, size = 1, signal = never, rank: Rank = 'normal'): Promise<void> => {
      try {
        permits.set(name, await limiter.enter(name.slice(0, 1), size, signal, { rank }));
        diary.push(`${name} in`);
      } catch (error) {
        diary.push(`${name} ${(error as Error).message}`);
      }
    };
    return {
      limiter,
      waits,
      come,
      permit: (name: string): Permit => {
        const permit = permits.get(name);
        if (permit === undefined) throw new Error(`${name} is not in`);
        return permit;
      },
      /** The log since the last call. */
      news: async (): Promise<string[]> => {
        await vi.advanceTimersByTimeAsync(0);
        return diary.splice(0);
      },
      state: () => states.at(-1),
    };
  };

  it('admits what fits, and the rest when there is room', async () => {
    const { come, news, permit, state, waits } = limiterOf();
    for (const name of ['a1', 'a2', 'a3', 'a4']) void come(name);
    expect([await news(), state()]).toEqual([['a1 in', 'a2 in'], { inside: 2, waiting: 2 }]);
    await vi.advanceTimersByTimeAsync(700);
    permit('a2').leave();
    permit('a2').leave();
    expect([await news(), state(), waits]).toEqual([['a3 in'], { inside: 2, waiting: 1 }, [700]]);
    permit('a1').leave();
    permit('a3').leave();
    permit('a3').leave(5);
    expect([await news(), state()]).toEqual([['a4 in'], { inside: 1, waiting: 0 }]);
  });

  it('alternates between keys', async () => {
    const { come, news, permit } = limiterOf({ capacity: 1, maxWaiting: 10 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']) void come(name);
    const order: string[] = [];
    for (let last = await news(); last.length > 0; last = await news()) {
      order.push(...last);
      permit((last[0] ?? '').slice(0, 2)).leave();
    }
    expect(order).toEqual(['a1 in', 'a2 in', 'b1 in', 'c1 in', 'a3 in', 'b2 in', 'a4 in']);
  });

  it('admits entries of low rank after others, but not last of all', async () => {
    const { come, news, permit, state } = limiterOf({
      capacity: 1,
      maxWaiting: 10,
      low: { capacity: 1, waitMs: 60_000 },
    });
    void come('a1');
    for (const name of ['x1', 'x2', 'y1']) void come(name, 1, never, 'low');
    for (const name of ['a2', 'b1', 'a3', 'b2', 'a4', 'b3']) void come(name);
    expect(state()).toEqual({ inside: 1, waiting: 6 });
    const order: string[] = [];
    for (let last = await news(); last.length > 0; last = await news()) {
      order.push(...last);
      permit((last[0] ?? '').slice(0, 2)).leave();
    }
    expect(order.join(' ')).toBe('a1 in a2 in b1 in a3 in b2 in x1 in a4 in b3 in y1 in x2 in');
  });

  it('keeps room free of entries of low rank, which wait as long as they may', async () => {
    const { come, news, permit } = limiterOf({ capacity: 3, low: { capacity: 2, waitMs: 60_000 } });
    for (const name of ['x1', 'x2', 'x3', 'x4']) void come(name, 1, never, 'low');
    void come('a1');
    expect(await news()).toEqual(['x1 in', 'x2 in', 'a1 in']);
    permit('a1').leave();
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await news()).toEqual([]);
    permit('x1').leave();
    expect(await news()).toEqual(['x3 in']);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await news()).toEqual(['x4 late, 1 s']);
  });

  it('admits a large entry completely or not at all, and nothing overtakes it', async () => {
    const { come, news, permit } = limiterOf({ capacity: 3, maxWaiting: 9 });
    for (const name of ['a1', 'a2', 'a3']) void come(name);
    void come('b1', 3);
    void come('a4');
    await news();
    permit('a1').leave();
    permit('a2').leave();
    expect(await news()).toEqual([]);
    permit('a3').leave();
    expect(await news()).toEqual(['b1 in']);
    permit('b1').leave(1);
    expect(await news()).toEqual(['a4 in']);
  });

  it('admits an entry above the capacity alone', async () => {
    const { come, news, permit, state } = limiterOf({ capacity: 2 });
    void come('a1');
    void come('b1', 50);
    expect(await news()).toEqual(['a1 in']);
    permit('a1').leave();
    expect([await news(), state()]).toEqual([['b1 in'], { inside: 2, waiting: 0 }]);
  });

  it('rejects an entry that waited too long, and reports recent waits', async () => {
    const { come, news, permit, state } = limiterOf({ capacity: 1 });
    for (const name of ['a1', 'a2', 'a3']) void come(name);
    await vi.advanceTimersByTimeAsync(12_345);
    permit('a1').leave();
    await vi.advanceTimersByTimeAsync(17_655);
    expect([await news(), state()]).toEqual([['a1 in', 'a2 in', 'a3 late, 13 s'], { inside: 1, waiting: 0 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('removes an aborted entry, even if it blocked others', async () => {
    const { come, news, state } = limiterOf({ capacity: 2 });
    const client = new AbortController();
    void come('a1');
    void come('b1', 2, client.signal);
    void come('a2');
    expect(await news()).toEqual(['a1 in']);
    client.abort(new Error('gone'));
    expect([await news(), state()]).toEqual([['b1 gone', 'a2 in'], { inside: 2, waiting: 0 }]);
    void come('c1', 1, AbortSignal.abort(new Error('gone before')));
    expect([await news(), state()]).toEqual([['c1 gone before'], { inside: 2, waiting: 0 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not blame a single key for a full queue', async () => {
    const { come, news } = limiterOf({ capacity: 1, maxWaiting: 2 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) void come(name);
    expect(await news()).toEqual(['a1 in', 'a4 full, 1 s']);
  });

  it('rejects a key above its share if the queue is full', async () => {
    const { come, news } = limiterOf({ capacity: 2, maxWaiting: 2 });
    for (const name of ['a1', 'b1', 'a2', 'a3', 'a4']) void come(name);
    expect(await news()).toEqual(['a1 in', 'b1 in', 'a4 share, 1 s']);
  });

  it('drops the newest entry of the largest key for a key below its share', async () => {
    const { come, news, state } = limiterOf({ capacity: 1, maxWaiting: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1']) void come(name);
    expect([await news(), state()]).toEqual([
      ['a1 in', 'a4 share, 1 s', 'a3 share, 1 s'],
      { inside: 1, waiting: 3 },
    ]);
    // All keys but one are equal now.
    void come('b2');
    expect(await news()).toEqual(['a2 share, 1 s']);
    void come('b3');
    expect(await news()).toEqual(['b3 share, 1 s']);
  });

  it('never drops running entries, nor any for an entry too large to wait', async () => {
    const { come, news } = limiterOf({ capacity: 3, maxWaiting: 1 });
    for (const name of ['a1', 'a2', 'a3', 'c1']) void come(name);
    void come('b1', 2);
    void come('b2');
    expect(await news()).toEqual(['a1 in', 'a2 in', 'a3 in', 'b1 full, 1 s', 'b2 full, 1 s']);
  });

  it('admits the key with the least inside first', async () => {
    const { come, news, permit } = limiterOf({ capacity: 4, maxWaiting: 9 });
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3']) void come(name);
    await news();
    permit('a1').leave();
    permit('a2').leave();
    expect(await news()).toEqual(['b1 in', 'b2 in']);
    permit('a3').leave();
    expect(await news()).toEqual(['a5 in']);
  });

  it('leaves the last place to administrators, who overtake for it', async () => {
    const { come, news, permit } = limiterOf({ capacity: 3, maxWaiting: 9, isAdmin: (key) => key === 'z' });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'z1', 'z2']) void come(name);
    expect(await news()).toEqual(['a1 in', 'a2 in', 'z1 in']);
    permit('z1').leave();
    expect(await news()).toEqual(['z2 in']);
    permit('a1').leave();
    permit('a2').leave();
    expect(await news()).toEqual(['a3 in']);
    permit('z2').leave();
    expect(await news()).toEqual(['b1 in']);
    // More than there is for others: alone.
    void come('b2', 3);
    permit('a3').leave();
    expect(await news()).toEqual([]);
    permit('b1').leave();
    expect(await news()).toEqual(['b2 in']);
  });

  it('rejects an entry at once if its key has its share, where only others wait', async () => {
    const { come, news, permit } = limiterOf({ capacity: 2, onlyShareWaits: true });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'a4', 'b2']) void come(name);
    expect(await news()).toEqual(['a1 in', 'a2 in', 'a3 full, 1 s', 'a4 share, 1 s', 'b2 share, 1 s']);
    permit('a1').leave();
    void come('a5');
    expect(await news()).toEqual(['b1 in', 'a5 share, 1 s']);
  });

  it('asks entries of a key above its share to give way: those that can leave first', async () => {
    const { limiter, news, come } = limiterOf({ capacity: 3, onlyShareWaits: true });
    const asked: string[] = [];
    const enter = async (name: string, rank: number | null): Promise<Permit> =>
      limiter.enter(name.slice(0, 1), 1, never, {
        yielding: {
          rank: () => rank,
          giveWay() {
            asked.push(name);
            return false;
          },
        },
      });
    const permits = [await enter('a1', null), await enter('a2', 7), await enter('a3', 5)];
    void come('b1');
    void come('b2');
    void come('c1');
    expect([await news(), asked]).toEqual([['b2 share, 1 s'], ['a3', 'a2']]);
    for (const permit of permits.slice(1)) permit.leave();
    expect(await news()).toEqual(['b1 in', 'c1 in']);
  });

  it('asks another one if an administrator takes the place that was given up', async () => {
    const isAdmin = (key: string): boolean => key === 'z';
    const { limiter, news, come } = limiterOf({ capacity: 6, maxWaiting: 6, onlyShareWaits: true, isAdmin });
    const asked: Permit[] = [];
    for (let count = 0; count < 5; count += 1) {
      const giveWay = (): boolean => {
        asked.push(permit);
        return false;
      };
      const permit: Permit = await limiter.enter('a', 1, never, { yielding: { rank: () => 1, giveWay } });
    }
    void come('b1');
    void come('z1');
    expect([await news(), asked.length]).toEqual([['z1 in'], 2]);
    for (const permit of asked) permit.leave();
    expect(await news()).toEqual(['b1 in']);
  });

  it('has the place at once of an entry that leaves when it is asked', async () => {
    const { limiter, news, come, state } = limiterOf();
    const yielding = { rank: () => 1, giveWay: () => true };
    const permits = [1, 2].map(() => limiter.enter('a', 1, never, { yielding }));
    void come('b1');
    expect([await news(), state()]).toEqual([['b1 in'], { inside: 2, waiting: 0 }]);
    for (const permit of permits) (await permit).leave();
    expect(state()).toEqual({ inside: 1, waiting: 0 });
  });

  it('law: stays within the limits, loses nothing, and admits or rejects every entry', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('come' as const),
        key: fc.constantFrom('a', 'b', 'c'),
        size: fc.nat(6),
      }),
      fc.record({ kind: fc.constant('leave' as const), at: fc.nat(20), size: fc.nat(3) }),
      fc.record({ kind: fc.constant('go' as const), at: fc.nat(20) }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(8_000) }),
    );
    const run = async (steps: readonly unknown[]): Promise<void> => {
      const states: GateState[] = [];
      const limiter = new Limiter({
        capacity: 5,
        maxWaiting: 8,
        waitMs: 10_000,
        clock: { now: () => Date.now() },
        refuse: (why) => new Error(why),
        onChange: (state) => states.push(state),
      });
      const permits: Permit[] = [];
      const comings: Promise<unknown>[] = [];
      const clients: AbortController[] = [];
      for (const one of steps as readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) {
        if (one.kind === 'come') {
          const client = new AbortController();
          clients.push(client);
          comings.push(
            limiter.enter(one.key, one.size, client.signal).then(
              (permit) => permits.push(permit),
              () => {},
            ),
          );
        } else if (one.kind === 'leave') permits[one.at]?.leave(one.size);
        else if (one.kind === 'go') clients[one.at]?.abort();
        else await vi.advanceTimersByTimeAsync(one.ms);
        await vi.advanceTimersByTimeAsync(0);
      }
      for (const permit of permits) permit.leave();
      await vi.advanceTimersByTimeAsync(10_000);
      await Promise.all(comings);
      for (const permit of permits) permit.leave();
      expect(states.filter(({ inside, waiting }) => inside > 5 || inside < 0 || waiting < 0)).toEqual([]);
      expect(states.at(-1) ?? { inside: 0, waiting: 0 }).toEqual({ inside: 0, waiting: 0 });
      expect(vi.getTimerCount()).toBe(0);
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), run), { numRuns: 300 });
  });
});

const { signal } = new AbortController();
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
const pending = (): Promise<never> => new Promise(() => {});

describe('Slots', () => {
  it('limits concurrency, in order', async () => {
    const slots = new Slots(2);
    const begun: number[] = [];
    const ends = [1, 2, 3, 4].map(() => Promise.withResolvers<number>());
    const all = ends.map(({ promise }, index) =>
      slots.run(() => {
        begun.push(index);
        return promise;
      }, signal),
    );
    await settled();
    expect(begun).toEqual([0, 1]);
    ends[1]?.resolve(7);
    expect(await all[1]).toBe(7);
    ends[0]?.reject(new Error('no'));
    await expect(all[0]).rejects.toThrow('no');
    await settled();
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it('alternates between keys', async () => {
    const slots = new Slots(1);
    const first = Promise.withResolvers<void>();
    const order: string[] = [];
    const asked = ['greedy', 'greedy', 'greedy', 'other'].map((key, index) =>
      slots.run(
        () => {
          order.push(`${key} ${index}`);
          return index === 0 ? first.promise : Promise.resolve();
        },
        signal,
        key,
      ),
    );
    first.resolve();
    await Promise.all(asked);
    expect(order).toEqual(['greedy 0', 'greedy 1', 'other 3', 'greedy 2']);
  });

  it('removes aborted entries', async () => {
    const slots = new Slots(1);
    const gone = new AbortController();
    const first = Promise.withResolvers<void>();
    const running = slots.run(() => first.promise, signal);
    const left = slots.run(pending, gone.signal);
    const last = slots.run(async () => 'in', signal);
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await expect(slots.run(pending, gone.signal)).rejects.toThrow('gone');
    first.resolve();
    await running;
    expect(await last).toBe('in');
  });
});

const lineOf = (...names: readonly string[]): FairLine<string> => {
  const line = new FairLine<string>();
  // "a1" belongs to the key "a".
  for (const name of names) line.join(name.slice(0, 1), name);
  return line;
};

/** All waiting entries in order of service. */
const served = (line: FairLine<string>): string[] => {
  const order: string[] = [];
  for (let [first] = line.heads(); first !== undefined; [first] = line.heads()) {
    line.serve(first.slice(0, 1), first);
    order.push(first);
  }
  return order;
};

describe('FairLine', () => {
  it('serves one key in order', () => {
    expect(served(lineOf('a1', 'a2', 'a3'))).toEqual(['a1', 'a2', 'a3']);
  });

  it('alternates between keys', () => {
    expect(served(lineOf('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'))).toEqual([
      'a1',
      'b1',
      'c1',
      'a2',
      'b2',
      'a3',
      'a4',
    ]);
  });

  it('puts a served key after one that arrived since', () => {
    const line = lineOf('a1', 'a2', 'a3');
    line.serve('a', 'a1');
    line.join('b', 'b1');
    line.serve('a', 'a2');
    expect(served(line)).toEqual(['b1', 'a3']);
  });

  it('removes an entry that leaves, and keeps the turn of its key', () => {
    const line = lineOf('a1', 'b1', 'a2', 'b2', 'c1');
    line.leave('b', 'b1');
    line.leave('c', 'c1');
    line.leave('c', 'c1');
    expect([line.newestOf('a'), line.newestOf('c'), line.has('b'), line.has('c')]).toEqual([
      'a2',
      undefined,
      true,
      false,
    ]);
    expect(served(line)).toEqual(['a1', 'b2', 'a2']);
  });
});
