import { expect, it } from 'vitest';

import { readReasoning } from '../../src/anthropic/messages/reasoning/thinking-block.ts';
import { keyBytes, TextSigner } from '../../src/store/text-signer.ts';

/** Clients keep signatures for as long as they like: what an earlier version signed must stay readable. */
it('signatures of the first form are read', () => {
  const signer = new TextSigner([keyBytes('0a'.repeat(32))]);
  const block = {
    type: 'thinking',
    thinking: 'One.\n\nTwo.',
    signature:
      'cap1.eyJvcmlnaW4iOiJoZXJlIiwiaXRlbSI6eyJpZCI6InJzXzEiLCJlbmNyeXB0ZWRDb250ZW50IjoiZ0FBQSIsInN0YXR1cyI6ImNvbXBsZXRlZCJ9LCJsZW5ndGhzIjpbNCw0XX0.Mcskbd5rr1Jw5K52wHf739a7ucxT8vxwi83kaNOxQe0',
  };
  expect(readReasoning(block, signer)).toEqual({
    kind: 'reasoning',
    id: 'rs_1',
    summary: ['One.', 'Two.'],
    encryptedContent: 'gAAA',
    origin: 'here',
    status: 'completed',
  });
});
