import { describe, expect, it } from 'vitest';

import { runStorm } from './storm.ts';

describe('everything that can go wrong, at once', () => {
  it('every request ends, no answer is wrong, and nothing is left', { timeout: 240_000 }, async () => {
    const wrong = await runStorm({
      seed: 8,
      seconds: 10,
      clients: 16,
      faultEveryMs: 800,
      idleTimeoutMs: 4_000,
    });
    expect(wrong).toEqual([]);
  });
});
