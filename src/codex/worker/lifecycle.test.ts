import { describe, expect, it } from 'vitest';

import {
  afterFailure,
  afterCheck,
  afterLoss,
  isBusyWhileIdle,
  isHung,
  isSilent,
  leastLoaded,
  NO_FAILURES,
  type PingCheck,
  retireReasonOf,
} from './lifecycle.ts';

describe('afterFailure', () => {
  it('doubles from half a second to half a minute, and resets after a quiet time', () => {
    let backoff = NO_FAILURES;
    let now = 0;
    const delays: number[] = [];
    const failAfter = (ms: number): void => {
      now += ms;
      const next = afterFailure(backoff, now);
      delays.push(next.delayMs);
      backoff = next.backoff;
    };
    for (let failure = 0; failure < 9; failure += 1) failAfter(30_000);
    failAfter(120_000);
    failAfter(120_001);
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 500]);
  });
});

describe('afterLoss', () => {
  it('ignores failures before a worker that ran for a while, and does not wait', () => {
    expect(afterLoss({ failures: 3, lastFailureMs: 7 }, 10, 10_000)).toEqual({
      delayMs: 0,
      backoff: NO_FAILURES,
    });
  });

  it('waits after an early death, but less than for a process that does not start', () => {
    const after = (failures: number) => afterLoss({ failures, lastFailureMs: 7 }, 10, 9_999);
    expect([0, 1, 2, 3, 20].map(after)).toEqual([
      { delayMs: 500, backoff: { failures: 1, lastFailureMs: 10 } },
      { delayMs: 1_000, backoff: { failures: 2, lastFailureMs: 10 } },
      { delayMs: 2_000, backoff: { failures: 3, lastFailureMs: 10 } },
      { delayMs: 2_000, backoff: { failures: 4, lastFailureMs: 10 } },
      { delayMs: 2_000, backoff: { failures: 21, lastFailureMs: 10 } },
    ]);
  });
});

describe('the idle timer', () => {
  const after = (missedChecks: readonly (readonly [received: number, isPinged: boolean])[]): PingCheck =>
    missedChecks.reduce<PingCheck>(
      (before, [received, isPinged]) => afterCheck(before, { received, isPinged }),
      {
        missedChecks: 0,
        received: 0,
      },
    );
  const times = (count: number, look: readonly [number, boolean]) =>
    Array.from({ length: count }, () => look);

  it('counts consecutive checks without an answer', () => {
    const states = [0, 4, 5, 9, 10].map((count) => after(times(count, [0, true])));
    expect(states.map((idleTimer) => [isSilent(idleTimer), isHung(idleTimer)])).toEqual([
      [false, false],
      [false, false],
      [true, false],
      [true, false],
      [true, true],
    ]);
  });

  it('resets with any output, and does not run without an open ping', () => {
    expect([
      after([...times(9, [0, true]), [1, true]]),
      after([...times(9, [0, true]), [1, true], [1, true]]),
      after(times(100, [0, false])),
    ]).toEqual([
      { missedChecks: 0, received: 1 },
      { missedChecks: 1, received: 1 },
      { missedChecks: 0, received: 0 },
    ]);
  });
});

describe('leastLoaded', () => {
  const candidate = (leases: number, flags: { isToBeReplaced?: boolean; isSilent?: boolean } = {}) => ({
    leases,
    isToBeReplaced: false,
    isSilent: false,
    ...flags,
  });

  it('prefers a responsive worker, then one that is not retiring, then the fewest turns, then the first', () => {
    const [silent, retiring, busy, first, second] = [
      candidate(0, { isSilent: true }),
      candidate(0, { isToBeReplaced: true }),
      candidate(5),
      candidate(1),
      candidate(1),
    ];
    expect([
      leastLoaded([silent, retiring, busy, first, second]) === first,
      leastLoaded([silent, retiring, busy]) === busy,
      leastLoaded([silent, retiring]) === retiring,
      leastLoaded([silent]) === silent,
      leastLoaded([]),
    ]).toEqual([true, true, true, true, null]);
  });
});

describe('the reason to retire a worker', () => {
  const limits = { maxRssMb: 1, maxHomeMb: 2, maxThreads: 3 };
  const mebibyte = 1024 * 1024;
  const fine = { residentBytes: mebibyte, homeBytes: 2 * mebibyte, freeBytes: null, threads: 3, cpuMs: 1e9 };
  const old = { ageMs: 5_000, leases: 0 };

  it('is one value over its limit', () => {
    expect([
      retireReasonOf(fine, old, limits),
      retireReasonOf({ ...fine, residentBytes: mebibyte + 1 }, old, limits),
      retireReasonOf({ ...fine, homeBytes: 2 * mebibyte + 1 }, old, limits),
      retireReasonOf({ ...fine, threads: 4 }, old, limits),
    ]).toEqual([null, 'memory', 'disk', 'threads']);
  });

  it('is a home of some size on a nearly full disk', () => {
    const roomy = { ...limits, maxHomeMb: 128 };
    const wear = (homeMb: number, freeMb: number) =>
      retireReasonOf({ ...fine, homeBytes: homeMb * mebibyte, freeBytes: freeMb * mebibyte }, old, roomy);
    // A new home is small: a new worker would not help against files of others.
    expect([wear(127, 64), wear(17, 63), wear(16, 0), wear(3, 0)]).toEqual([null, 'disk', null, null]);
  });

  it('does not count threads in use', () => {
    expect(
      [4, 5].map((threads) => retireReasonOf({ ...fine, threads }, { ...old, leases: 1 }, limits)),
    ).toEqual([null, 'threads']);
  });

  it('is null for a worker that has just started', () => {
    const retiring = { residentBytes: 1e9, homeBytes: 1e9, freeBytes: 0, threads: 1e9, cpuMs: null };
    expect(retireReasonOf(retiring, { ageMs: 4_999, leases: 0 }, limits)).toBeNull();
  });

  it('is more than half a core without any turn', () => {
    const before = { cpuMs: 100, atMs: 1_000 };
    expect([15_100, 15_101].map((cpuMs) => isBusyWhileIdle(before, { cpuMs, atMs: 31_000 }))).toEqual([
      false,
      true,
    ]);
  });
});
