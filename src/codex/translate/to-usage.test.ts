import { expect, it } from 'vitest';

import { toUsage } from './to-usage.ts';

it('treats a negative count as 0', () => {
  const said = {
    inputTokens: 5,
    cachedInputTokens: -1,
    cacheWriteInputTokens: 0,
    outputTokens: -7,
    reasoningOutputTokens: 2,
    totalTokens: -2,
  };
  expect(toUsage(said)).toEqual({
    inputTokens: 5,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 2,
    totalTokens: 0,
  });
});
