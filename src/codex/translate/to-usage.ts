import type { Usage } from '../../canonical/usage.ts';
import type { TokenUsageBreakdown } from '../protocol/generated/v2/TokenUsageBreakdown.ts';

export const toUsage = (usage: TokenUsageBreakdown): Usage => ({
  inputTokens: usage.inputTokens,
  cachedInputTokens: usage.cachedInputTokens,
  cacheWriteInputTokens: usage.cacheWriteInputTokens,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningOutputTokens,
  totalTokens: usage.totalTokens,
});
