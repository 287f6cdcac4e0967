import { describe, expect, it } from 'vitest';

import { afterFailure, afterHealth, NO_FAILURES, wornByMemory, wornByThreads } from './lifecycle.ts';

describe('afterFailure', () => {
  it('doubles from half a second to half a minute, and starts anew after a quiet time', () => {
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

describe('afterHealth', () => {
  it('forgets the trouble before a worker that ran for a while', () => {
    const trouble = { failures: 3, lastFailureMs: 7 };
    expect([afterHealth(trouble, 9_999), afterHealth(trouble, 10_000)]).toEqual([trouble, NO_FAILURES]);
  });
});

describe('wear', () => {
  const limits = { maxThreads: 2, maxRssMb: 1 };

  it('counts threads', () => {
    expect([1, 2, 3].map((threads) => wornByThreads(threads, limits))).toEqual([false, false, true]);
  });

  it('measures memory, but not of a worker that has just begun', () => {
    const mebibyte = 1024 * 1024;
    expect([
      wornByMemory(mebibyte, 60_000, limits),
      wornByMemory(mebibyte + 1, 60_000, limits),
      wornByMemory(mebibyte + 1, 4_999, limits),
    ]).toEqual([false, true, false]);
  });
});
