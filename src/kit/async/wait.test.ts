import { describe, expect, it, afterEach, beforeEach, vi } from 'vitest';

import { firstAborted, unlessAborted, pause, IdleTimer } from './wait.ts';

const silent = new Promise<string>(() => {});

describe('unlessAborted', () => {
  it('returns the promise while the signal is not aborted', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve('a'), signal)).toBe('a');
    await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  });

  it('throws the reason at once, even if aborted before', async () => {
    const controller = new AbortController();
    const waiting = unlessAborted(silent, controller.signal);
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(unlessAborted(silent, controller.signal)).rejects.toThrow('gone');
  });
});

describe('firstAborted', () => {
  it('is aborted with the first of the signals, for its reason', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const first = firstAborted(one.signal, other.signal);
    expect(first.aborted).toBe(false);
    other.abort('other');
    one.abort('one');
    expect([first.aborted, first.reason]).toEqual([true, 'other']);
  });

  it('is aborted at once if one of them is', () => {
    const first = firstAborted(new AbortController().signal, AbortSignal.abort('before'));
    expect([first.aborted, first.reason]).toEqual([true, 'before']);
  });
});

describe('pause', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('waits', async () => {
    const ended = vi.fn<() => void>();
    void pause(50, new AbortController().signal).then(ended);
    await vi.advanceTimersByTimeAsync(49);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledOnce();
  });

  it('ends with its signal, and leaves no timer', async () => {
    const left = new AbortController();
    const waiting = pause(50, left.signal);
    left.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    await expect(pause(50, left.signal)).rejects.toThrow('left');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('IdleTimer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const watch = (ms: number): { idleTimer: IdleTimer; strikes: () => number } => {
    let strikes = 0;
    const idleTimer = new IdleTimer(ms, () => {
      strikes += 1;
    });
    return { idleTimer, strikes: () => strikes };
  };

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
