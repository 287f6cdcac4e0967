import { expect, it } from 'vitest';

import { runConversations } from './conversations.ts';

/** `CHAOS_SEED` repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Date.now() % 1_000_000);

it('two hundred tool conversations at once', { timeout: 900_000 }, async () => {
  console.log(`conversations: seed ${seed}`);
  const wrong = await runConversations({
    seed,
    conversations: 200,
    workers: 2,
    killEveryMs: 2_000,
    maxKills: 20,
  });
  expect(wrong).toEqual([]);
});
