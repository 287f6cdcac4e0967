import { describe, expect, it } from 'vitest';

import { runConversations } from './conversations.ts';

describe('tool conversations while app-servers die and are replaced', () => {
  it('all end correctly and leave nothing behind', { timeout: 240_000 }, async () => {
    const wrong = await runConversations({
      seed: 10,
      conversations: 24,
      workers: 2,
      killEveryMs: 800,
      maxKills: 3,
    });
    expect(wrong).toEqual([]);
  });
});
