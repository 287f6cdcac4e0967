import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { firstEventLimitMs, FirstEventWatch } from './idle-timeout.ts';

describe('the limit', () => {
  it('grows with the request, up to three minutes', () => {
    const limits = [0, 40 * 1024, 50 * 1024, 140 * 1024, 100 * 1024 * 1024];
    expect(limits.map((bytes) => firstEventLimitMs(45_000, bytes))).toEqual([
      45_000, 45_000, 46_000, 55_000, 180_000,
    ]);
  });

  it('is never shorter than configured', () => {
    expect(firstEventLimitMs(600_000, 100 * 1024 * 1024)).toBe(600_000);
  });
});

describe('the watch', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('aborts after the limit', () => {
    const watch = new FirstEventWatch(1_000);
    vi.advanceTimersByTime(999);
    expect(watch.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(watch.signal.aborted).toBe(true);
  });

  it('waits longer for a backend that is alive, but not for ever', () => {
    const watch = new FirstEventWatch(1_000);
    for (let sign = 0; sign < 3; sign += 1) {
      vi.advanceTimersByTime(600);
      watch.heard();
    }
    expect(watch.signal.aborted).toBe(false);
    vi.advanceTimersByTime(200);
    expect(watch.signal.aborted).toBe(true);
  });

  it('does nothing after it was stopped', () => {
    const watch = new FirstEventWatch(1_000);
    watch.stop();
    vi.advanceTimersByTime(10_000);
    expect(watch.signal.aborted).toBe(false);
  });
});
