import { describe, expect, it, vi } from 'vitest';
import { systemAmbient } from './ambient.ts';

describe('systemAmbient', () => {
  it('mints ids of a prefix and 32 hex digits', () => {
    expect(systemAmbient.ids.mint('msg')).toMatch(/^msg_[0-9a-f]{32}$/);
  });

  it('never mints the same id twice', () => {
    const ids = Array.from({ length: 10_000 }, () => systemAmbient.ids.mint('resp'));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('returns the time of the machine', () => {
    vi.useFakeTimers({ now: 1_700_000_000_123 });
    try {
      expect(systemAmbient.clock.now()).toBe(1_700_000_000_123);
    } finally {
      vi.useRealTimers();
    }
  });
});
