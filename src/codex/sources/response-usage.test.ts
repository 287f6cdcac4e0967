import { expect, it } from 'vitest';

import { readUsage } from './response-usage.ts';

const usage = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };
const READ = {
  inputTokens: 5,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 3,
  reasoningTokens: 0,
  totalTokens: 8,
};

it('reads the tokens of an answer and of the images generated for it', () => {
  expect([readUsage(null), readUsage({}), readUsage({ usage })]).toEqual([null, null, READ]);
  const image_gen = {
    input_tokens: 50,
    input_tokens_details: { text_tokens: 10, image_tokens: 40 },
    output_tokens: 60,
    total_tokens: 110,
  };
  expect(readUsage({ usage, tool_usage: { image_gen } })).toEqual({
    ...READ,
    images: { input: { tokens: 50, of: { text: 10, image: 40 } }, output: { tokens: 60, of: null } },
  });
  const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  expect(readUsage({ usage, tool_usage: { image_gen: none } })).toEqual(READ);
});

it('treats invalid counts as 0', () => {
  const details = { cached_tokens: -1, cache_write_tokens: 0.5 };
  const odd = { ...usage, input_tokens_details: details, output_tokens_details: { reasoning_tokens: 1e300 } };
  expect(readUsage({ usage: odd })).toEqual(READ);
});
