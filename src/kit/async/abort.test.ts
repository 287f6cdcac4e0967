import { describe, expect, it } from 'vitest';

import { unlessAborted } from './abort.ts';

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
