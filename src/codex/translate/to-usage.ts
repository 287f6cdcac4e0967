import type { Usage } from '../../canonical/events/usage.ts';
import type { TokenUsageBreakdown } from '../protocol/generated/v2/TokenUsageBreakdown.ts';

/** Codex passes on what the backend sent, even invalid counts. */
const count = (tokens: number): number => Math.max(tokens, 0);

export const toUsage = (usage: TokenUsageBreakdown): Usage => ({
  inputTokens: count(usage.inputTokens),
  cachedInputTokens: count(usage.cachedInputTokens),
  cacheWriteInputTokens: count(usage.cacheWriteInputTokens),
  outputTokens: count(usage.outputTokens),
  reasoningTokens: count(usage.reasoningOutputTokens),
  totalTokens: count(usage.totalTokens),
});
