import { describe, expect, it } from 'vitest';

import { startSweeper, createClockTrust } from './sweeper.ts';

describe('startSweeper', () => {
  it('goes on while there is something to delete, and after errors', async () => {
    const results: (number | Error)[] = [3, new Error('gone'), 2, 0];
    const seen: unknown[] = [];
    const done = Promise.withResolvers<void>();
    const sweeper = startSweeper({
      store: {
        sweep(limit) {
          const result = results.shift();
          seen.push(`sweep ${limit}`);
          if (result === undefined) {
            done.resolve();
            return Promise.resolve(0);
          }
          return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
        },
      },
      clock: { now: () => 0 },
      intervalMs: 1,
      limit: 7,
      onSwept: (rows) => void seen.push(rows),
      onError: (error) => void seen.push(error),
    });
    await done.promise;
    await sweeper.stop();
    expect(seen.slice(0, 8)).toEqual([
      'sweep 7',
      3,
      'sweep 7',
      new Error('gone'),
      'sweep 7',
      2,
      'sweep 7',
      'sweep 7',
    ]);
  });

  it('waits for the step that runs, and then stops', async () => {
    const begun = Promise.withResolvers<void>();
    const step = Promise.withResolvers<number>();
    let steps = 0;
    const sweeper = startSweeper({
      store: {
        sweep() {
          steps += 1;
          begun.resolve();
          return step.promise;
        },
      },
      clock: { now: () => 0 },
      intervalMs: 1,
      onError: () => undefined,
    });
    await begun.promise;
    const stopped = sweeper.stop();
    step.resolve(5);
    await stopped;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(steps).toBe(1);
  });
});

describe('createClockTrust', () => {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;

  it('does not believe a clock that jumped ahead, until an hour has passed or it was set back', () => {
    let [wall, passed] = [1_000, 0];
    const isTrusted = createClockTrust({ now: () => wall }, { now: () => passed });
    const after = (milliseconds: number, jump = 0): boolean => {
      passed += milliseconds;
      wall += milliseconds + jump;
      return isTrusted();
    };
    expect([
      after(0),
      after(MINUTE),
      after(DAY),
      // A leap second, or a correction.
      after(MINUTE, 10 * MINUTE),
      after(MINUTE, DAY),
      after(MINUTE),
      after(HOUR - 2 * MINUTE),
      after(MINUTE),
      after(MINUTE, 365 * DAY),
      after(MINUTE, -365 * DAY),
      after(MINUTE, -10 * DAY),
    ]).toEqual([true, true, true, true, false, false, false, true, false, true, true]);
  });
});
