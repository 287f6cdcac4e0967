import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { IdleTimer } from './idle-timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const watch = (ms: number): { idleTimer: IdleTimer; strikes: () => number } => {
  let strikes = 0;
  const idleTimer = new IdleTimer(ms, () => {
    strikes += 1;
  });
  return { idleTimer, strikes: () => strikes };
};

describe('IdleTimer', () => {
  it('fires once after the timeout', () => {
    const { idleTimer, strikes } = watch(100);
    vi.advanceTimersByTime(99);
    idleTimer.heard();
    vi.advanceTimersByTime(99);
    expect(strikes()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(strikes()).toBe(1);
    idleTimer.heard();
    vi.advanceTimersByTime(1_000);
    expect(strikes()).toBe(1);
  });

  it('can change its timeout, even after firing', () => {
    const { idleTimer, strikes } = watch(100);
    idleTimer.allow(10);
    vi.advanceTimersByTime(10);
    expect(strikes()).toBe(1);
    idleTimer.allow(200);
    vi.advanceTimersByTime(199);
    expect(strikes()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(strikes()).toBe(2);
  });

  it('does not run while held, nor after stop', () => {
    const { idleTimer, strikes } = watch(100);
    idleTimer.hold();
    idleTimer.heard();
    vi.advanceTimersByTime(1_000);
    idleTimer.allow(100);
    idleTimer.stop();
    idleTimer.allow(100);
    vi.advanceTimersByTime(1_000);
    expect(strikes()).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('accepts timeouts above the maximum of timers', () => {
    const { strikes } = watch(2 ** 40);
    vi.advanceTimersByTime(1_000);
    expect(strikes()).toBe(0);
  });
});
