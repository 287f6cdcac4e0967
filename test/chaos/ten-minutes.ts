import { expect, it } from 'vitest';

import { runStorm } from './storm.ts';

/** `CHAOS_SEED` repeats a run; `CHAOS_SECONDS` sets its length. */
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);
const seconds = Number(process.env['CHAOS_SECONDS'] ?? 600);

it('a long storm', { timeout: (seconds + 600) * 1000 }, async () => {
  const wrong = await runStorm({ seed, seconds, clients: 64, faultEveryMs: 3_000, idleTimeoutMs: 10_000 });
  expect(wrong).toEqual([]);
});
