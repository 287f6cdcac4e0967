import { describe, expect, it } from 'vitest';

import { afterFailure, afterHealth, burnsIdle, NO_FAILURES, wearOf } from './lifecycle.ts';

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
  const limits = { maxRssMb: 1, maxHomeMb: 2, maxThreads: 3 };
  const mebibyte = 1024 * 1024;
  const fine = { residentBytes: mebibyte, homeBytes: 2 * mebibyte, threads: 3, cpuMs: 1e9 };
  const old = { ageMs: 5_000, leases: 0 };

  it('is one thing over its limit', () => {
    expect([
      wearOf(fine, old, limits),
      wearOf({ ...fine, residentBytes: mebibyte + 1 }, old, limits),
      wearOf({ ...fine, homeBytes: 2 * mebibyte + 1 }, old, limits),
      wearOf({ ...fine, threads: 4 }, old, limits),
    ]).toEqual([null, 'memory', 'disk', 'threads']);
  });

  it('does not count the threads that are in use', () => {
    expect([4, 5].map((threads) => wearOf({ ...fine, threads }, { ...old, leases: 1 }, limits))).toEqual([
      null,
      'threads',
    ]);
  });

  it('is nothing in a worker that has just begun', () => {
    const worn = { residentBytes: 1e9, homeBytes: 1e9, threads: 1e9, cpuMs: null };
    expect(wearOf(worn, { ageMs: 4_999, leases: 0 }, limits)).toBeNull();
  });

  it('is more than half a core while nobody asks for anything', () => {
    const before = { cpuMs: 100, atMs: 1_000 };
    expect([15_100, 15_101].map((cpuMs) => burnsIdle(before, { cpuMs, atMs: 31_000 }))).toEqual([
      false,
      true,
    ]);
  });
});
