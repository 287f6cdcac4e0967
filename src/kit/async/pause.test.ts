import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { pause } from './pause.ts';

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
