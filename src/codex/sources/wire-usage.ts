import type { Usage } from '../../canonical/usage.ts';
import { isJsonObject } from '../../kit/json.ts';

/** The usage of a response as the backend gave it; null: it gave none. */
export const readUsage = (usage: unknown): Usage | null => {
  if (!isJsonObject(usage)) return null;
  const input = isJsonObject(usage['input_tokens_details']) ? usage['input_tokens_details'] : {};
  const output = isJsonObject(usage['output_tokens_details']) ? usage['output_tokens_details'] : {};
  return {
    inputTokens: numberOf(usage['input_tokens']),
    cachedInputTokens: numberOf(input['cached_tokens']),
    cacheWriteInputTokens: numberOf(input['cache_write_tokens']),
    outputTokens: numberOf(usage['output_tokens']),
    reasoningTokens: numberOf(output['reasoning_tokens']),
    totalTokens: numberOf(usage['total_tokens']),
  };
};

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
