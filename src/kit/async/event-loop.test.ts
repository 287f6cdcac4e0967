import { describe, expect, it } from 'vitest';

import { atOnce, breathe, inTurns, type Steps } from './event-loop.ts';

/** Work that takes its time: each step keeps the processor for a while. */
function* busy(steps: number, ms: number, result: string): Steps<string> {
  for (let step = 0; step < steps; step += 1) {
    const until = performance.now() + ms;
    while (performance.now() < until);
    yield;
  }
  return result;
}

/** How many turns the loop makes until the work is done. */
const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    if (isDone) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await work;
  isDone = true;
  return turns;
};

describe('turns of the event loop', () => {
  it('are many for long work, and its result is the same', async () => {
    const work = inTurns(busy(20, 5, 'done'), null);
    expect(await turnsDuring(work)).toBeGreaterThanOrEqual(9);
    expect(await work).toBe('done');
    expect(atOnce(busy(3, 0, 'done'))).toBe('done');
  });

  it('are shared: work side by side does not make a turn longer', async () => {
    const all = Promise.all(
      Array.from({ length: 5 }, (_, index) => inTurns(busy(8, 5, String(index)), null)),
    );
    expect(await turnsDuring(all)).toBeGreaterThanOrEqual(14);
    expect(await all).toEqual(['0', '1', '2', '3', '4']);
  });

  it('are used by all who wait, as far as they reach, in the order in which they came', async () => {
    // Long work first: whoever comes while it holds the turn has to wait.
    const long = inTurns(busy(3, 20, 'long'), null);
    const done: number[] = [];
    const short = Array.from({ length: 50 }, async (_, index) => {
      await inTurns(busy(1, 0, ''), null);
      done.push(index);
    });
    expect(await turnsDuring(Promise.all([long, ...short]))).toBeLessThan(15);
    expect(done).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it('do not end for short work', async () => {
    let hasTurned = false;
    await new Promise((resolve) => setImmediate(resolve));
    setImmediate(() => {
      hasTurned = true;
    });
    await breathe();
    await inTurns(busy(100, 0, 'done'), null);
    expect(hasTurned).toBe(false);
  });

  it('end with the signal of the work', async () => {
    const left = new AbortController();
    let steps = 0;
    function* endless(): Steps<never> {
      for (;;) {
        steps += 1;
        yield;
      }
    }
    setImmediate(() => left.abort(new Error('gone')));
    await expect(inTurns(endless(), left.signal)).rejects.toThrow('gone');
    const done = steps;
    await expect(inTurns(endless(), left.signal)).rejects.toThrow('gone');
    await expect(breathe(left.signal)).rejects.toThrow('gone');
    expect(steps).toBe(done);
  });

  it('end with the work that fails', async () => {
    function* failing(): Steps<never> {
      yield;
      throw new Error('no');
    }
    await expect(inTurns(failing(), null)).rejects.toThrow('no');
  });
});
