import type { TurnEnded } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';

export type UsagePolicy = 'exact' | 'zeros';

/** The total usage of all choices; null if the upstream did not report all of it. */
export const projectUsage = (turns: readonly Pick<TurnEnded, 'usage'>[], policy: UsagePolicy) => {
  const parsed = turns.map((turn) => turn.usage);
  // A partial sum is not exact.
  if (policy === 'exact' && parsed.includes(null)) return null;
  const usage = parsed.reduce<Usage | null>(addUsage, null);
  return {
    prompt_tokens: usage?.inputTokens ?? 0,
    completion_tokens: usage?.outputTokens ?? 0,
    total_tokens: usage?.totalTokens ?? 0,
    prompt_tokens_details: {
      cached_tokens: usage?.cachedInputTokens ?? 0,
      cache_write_tokens: usage?.cacheWriteInputTokens ?? 0,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage?.reasoningTokens ?? 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
};
