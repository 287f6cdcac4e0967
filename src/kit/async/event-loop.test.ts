import { describe, expect, it, vi } from 'vitest';

import { atOnce, yieldToLoop, runSliced, type Sliced } from './event-loop.ts';

/** Work whose steps each block for a while. */
function* busy(steps: number, ms: number, result: string): Sliced<string> {
  for (let step = 0; step < steps; step += 1) {
    const until = performance.now() + ms;
    while (performance.now() < until);
    yield;
  }
  return result;
}

/** The event loop's turns until the work is done. */
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

describe('runSliced', () => {
  it('runs long work in many turns with the same result', async () => {
    const work = runSliced(busy(20, 5, 'done'), null);
    expect(await turnsDuring(work)).toBeGreaterThanOrEqual(9);
    expect(await work).toBe('done');
    expect(atOnce(busy(3, 0, 'done'))).toBe('done');
  });

  it('does not lengthen turns with parallel work', async () => {
    const all = Promise.all(
      Array.from({ length: 5 }, (_, index) => runSliced(busy(8, 5, String(index)), null)),
    );
    expect(await turnsDuring(all)).toBeGreaterThanOrEqual(14);
    expect(await all).toEqual(['0', '1', '2', '3', '4']);
  });

  it('resumes waiting work in order while the turn lasts', async () => {
    // Long work first, so that later work has to wait.
    const long = runSliced(busy(3, 20, 'long'), null);
    const done: number[] = [];
    const short = Array.from({ length: 50 }, async (_, index) => {
      await runSliced(busy(1, 0, ''), null);
      done.push(index);
    });
    expect(await turnsDuring(Promise.all([long, ...short]))).toBeLessThan(15);
    expect(done).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it('does not yield for short work', async () => {
    // The clock stands still: a busy machine may keep this process waiting for longer than a turn.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    try {
      vi.resetModules();
      const fresh = await import('./event-loop.ts');
      let hasTurned = false;
      await new Promise((resolve) => setImmediate(resolve));
      setImmediate(() => {
        hasTurned = true;
      });
      await fresh.yieldToLoop();
      await fresh.runSliced(busy(100, 0, 'done'), null);
      expect(hasTurned).toBe(false);
    } finally {
      clock.mockRestore();
    }
  });

  it('stops when the signal is aborted', async () => {
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

  it('rethrows the error of the work', async () => {
    function* failing(): Sliced<never> {
      yield;
      throw new Error('no');
    }
    await expect(runSliced(failing(), null)).rejects.toThrow('no');
  });
});
