import { describe, expect, it } from 'vitest';

import { atOnce, yieldToLoop, runSliced, type Sliced } from './event-loop.ts';

/** Work that takes its time: each step keeps the processor for a while. */
function* busy(steps: number, ms: number, result: string): Sliced<string> {
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
    const work = runSliced(busy(20, 5, 'done'), null);
    expect(await turnsDuring(work)).toBeGreaterThanOrEqual(9);
    expect(await work).toBe('done');
    expect(atOnce(busy(3, 0, 'done'))).toBe('done');
  });

  it('are shared: work side by side does not make a turn longer', async () => {
    const all = Promise.all(
      Array.from({ length: 5 }, (_, index) => runSliced(busy(8, 5, String(index)), null)),
    );
    expect(await turnsDuring(all)).toBeGreaterThanOrEqual(14);
    expect(await all).toEqual(['0', '1', '2', '3', '4']);
  });

  it('are used by all who wait, as far as they reach, in the order in which they came', async () => {
    // Long work first: later work has to wait while it runs.
    const long = runSliced(busy(3, 20, 'long'), null);
    const done: number[] = [];
    const short = Array.from({ length: 50 }, async (_, index) => {
      await runSliced(busy(1, 0, ''), null);
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
    await yieldToLoop();
    await runSliced(busy(100, 0, 'done'), null);
    expect(hasTurned).toBe(false);
  });

  it('end with the signal of the work', async () => {
    const left = new AbortController();
    let steps = 0;
    function* endless(): Sliced<never> {
      for (;;) {
        steps += 1;
        yield;
      }
    }
    setImmediate(() => left.abort(new Error('gone')));
    await expect(runSliced(endless(), left.signal)).rejects.toThrow('gone');
    const done = steps;
    await expect(runSliced(endless(), left.signal)).rejects.toThrow('gone');
    await expect(yieldToLoop(left.signal)).rejects.toThrow('gone');
    expect(steps).toBe(done);
  });

  it('end with the work that fails', async () => {
    function* failing(): Sliced<never> {
      yield;
      throw new Error('no');
    }
    await expect(runSliced(failing(), null)).rejects.toThrow('no');
  });
});
