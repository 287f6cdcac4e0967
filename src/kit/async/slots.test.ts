import { describe, expect, it } from 'vitest';

import { Slots } from './slots.ts';

const { signal } = new AbortController();
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });
const never = (): Promise<never> => new Promise(() => {});

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
    const left = slots.run(never, gone.signal);
    const last = slots.run(async () => 'in', signal);
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await expect(slots.run(never, gone.signal)).rejects.toThrow('gone');
    first.resolve();
    await running;
    expect(await last).toBe('in');
  });
});
