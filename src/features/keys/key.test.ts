import { describe, expect, it } from 'vitest';

import { statusOf } from './key.ts';

const FRESH = { revokedAt: null, expiresAt: null, pausedAt: null };

describe('statusOf', () => {
  it('is active until the time of expiry', () => {
    expect(statusOf(FRESH, 5)).toBe('active');
    expect(statusOf({ ...FRESH, expiresAt: 6 }, 5)).toBe('active');
    expect(statusOf({ ...FRESH, expiresAt: 5 }, 5)).toBe('expired');
  });

  it('names the strongest reason', () => {
    expect(statusOf({ ...FRESH, pausedAt: 1 }, 5)).toBe('paused');
    expect(statusOf({ ...FRESH, pausedAt: 1, expiresAt: 2 }, 5)).toBe('expired');
    expect(statusOf({ revokedAt: 3, pausedAt: 1, expiresAt: 2 }, 5)).toBe('revoked');
  });
});
