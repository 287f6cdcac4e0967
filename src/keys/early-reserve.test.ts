import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { memoryLimits } from '../../test/support/limit-store.ts';
import type { Reservation, Reserved } from '../store/ports/limits.ts';
import { EarlyReserve } from './early-reserve.ts';

const NOW = 1_000_000;
const MINUTE_MS = 60_000;

const open = async () => {
  const clock = { time: NOW, now: () => clock.time };
  const store = await memoryLimits(clock);
  const lost: unknown[] = [];
  const calls: Promise<Reserved>[] = [];
  let problem: Error | null = null;
  const early = new EarlyReserve({
    clock,
    delayMs: 1,
    store: {
      ...store,
      reserve(reservation) {
        const doing = problem === null ? store.reserve(reservation) : Promise.reject(problem);
        calls.push(doing);
        return doing;
      },
    },
    onLost: (error) => lost.push(error),
  });
  let ids = 0;
  const reserve = (amount: number, max = 100): Promise<Reserved> => {
    ids += 1;
    const limit = { name: 'a', max, amount, resetsAt: clock.time + MINUTE_MS, lengthMs: MINUTE_MS };
    const reservation: Reservation = { id: `r${ids}`, keyId: 'k', expiresAt: 2 * NOW, limits: [limit] };
    return early.reserve(reservation);
  };
  return {
    clock,
    store,
    early,
    lost,
    reserve,
    breakWith: (error: Error | null) => (problem = error),
    /** Until the store has written everything. */
    written: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await Promise.allSettled(calls);
      await new Promise((resolve) => setImmediate(resolve));
    },
    used: async () => (await store.status('k')).get('a')?.used ?? 0,
  };
};

const usedIn = (reserved: Reserved): number | null =>
  reserved.isReserved ? (reserved.windows.get('a')?.used ?? null) : null;

describe('EarlyReserve', () => {
  it('answers before the store where there is room, and the store has the same afterwards', async () => {
    const { reserve, written, used, lost } = await open();
    expect(usedIn(await reserve(10))).toBe(10);
    const all = [reserve(20), reserve(30)];
    expect((await Promise.all(all)).map(usedIn)).toEqual([30, 60]);
    await written();
    expect([await used(), lost]).toEqual([60, []]);
  });

  it('never reserves more than the limit, whatever is being written', async () => {
    const { reserve, written, used, lost } = await open();
    await reserve(1);
    const all = await Promise.all(Array.from({ length: 64 }, () => reserve(3)));
    await written();
    expect(all.filter(({ isReserved }) => isReserved)).toHaveLength(33);
    expect([await used(), lost]).toEqual([100, []]);
  });

  it('counts every reservation once, in any order of reserving and ending', async () => {
    const amounts = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.boolean(), fc.boolean()), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(amounts, async (steps) => {
        const { early, reserve, written, used, lost } = await open();
        const running = new Map<string, number>();
        let nth = 0;
        const doing = steps.map(async ([amount, isEnded, isWaiting]) => {
          nth += 1;
          const id = `r${nth}`;
          if (!(await reserve(amount)).isReserved) return;
          running.set(id, amount);
          if (isWaiting) await new Promise((resolve) => setTimeout(resolve, 2));
          if (isEnded && (await early.giveBack(id))) running.delete(id);
        });
        await Promise.all(doing);
        await written();
        const reserved = [...running.values()].reduce((sum, amount) => sum + amount, 0);
        expect([await used(), lost]).toEqual([reserved, []]);
        expect(reserved).toBeLessThanOrEqual(100);
      }),
      { numRuns: 20 },
    );
  });

  it('asks the store before it refuses: requests have ended, or the key was reset', async () => {
    const { store, reserve, written } = await open();
    await reserve(90);
    await store.settle('r1', { a: 5 });
    expect(usedIn(await reserve(60))).toBe(65);
    await written();
    await store.reset('k');
    expect(usedIn(await reserve(50))).toBe(50);
    expect(await reserve(60)).toMatchObject({ isReserved: false, name: 'a' });
  });

  it('writes a reservation before it ends it', async () => {
    const { early, reserve, used } = await open();
    await reserve(10);
    await Promise.all([reserve(20), reserve(30)]);
    const ended = await Promise.all([early.giveBack('r2'), early.settle('r3', { a: 7 })]);
    expect([ended, await used()]).toEqual([[true, true], 17]);
  });

  it('begins a window in the store', async () => {
    const { clock, reserve, used } = await open();
    await reserve(90);
    clock.time += MINUTE_MS;
    expect([usedIn(await reserve(40)), await used()]).toEqual([40, 40]);
  });

  it('reports a reservation that could not be written, and asks the store from then on', async () => {
    const { reserve, breakWith, written, lost } = await open();
    await reserve(10);
    const broken = new Error('away');
    breakWith(broken);
    expect(usedIn(await reserve(10))).toBe(20);
    await written();
    await expect(reserve(10)).rejects.toBe(broken);
    expect(lost).toEqual([broken]);
    breakWith(null);
    expect(usedIn(await reserve(10))).toBe(20);
  });
});
