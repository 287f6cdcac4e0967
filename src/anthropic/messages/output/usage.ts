import type { Usage } from '../../../canonical/events/usage.ts';

/** The tokens of an answer. Cached tokens are not part of `input_tokens`. */
export const projectUsage = (usage: Usage | null) => {
  const {
    inputTokens = 0,
    cachedInputTokens = 0,
    cacheWriteInputTokens = 0,
    outputTokens = 0,
    reasoningTokens = 0,
  } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens),
    cache_creation_input_tokens: cacheWriteInputTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  };
};
