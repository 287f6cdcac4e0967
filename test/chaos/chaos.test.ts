import { describe, expect, it } from 'vitest';

import { runStorm } from './storm.ts';

describe('many faults at once', () => {
  it('end every request, give no wrong answer, and leave nothing behind', { timeout: 240_000 }, async () => {
    const wrong = await runStorm({
      seed: 8,
      seconds: 7,
      clients: 16,
      faultEveryMs: 560,
      idleTimeoutMs: 4_000,
    });
    expect(wrong).toEqual([]);
  });
});
