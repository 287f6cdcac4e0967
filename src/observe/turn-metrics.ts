import type { Metrics } from './metrics.ts';
import type { TurnObserver } from './observer.ts';

/** Counts turns and their tokens. */
export const turnMetrics = (
  metrics: Pick<Metrics, 'turnsActive' | 'tokens' | 'firstEventSeconds'>,
): TurnObserver => ({
  onStart() {
    metrics.turnsActive.inc();
  },
  onEnd({ usage, firstEventMs }) {
    metrics.turnsActive.dec();
    if (firstEventMs !== null) metrics.firstEventSeconds.observe(firstEventMs / 1000);
    if (usage === null) return;
    metrics.tokens.inc({ kind: 'input' }, usage.inputTokens);
    metrics.tokens.inc({ kind: 'cached_input' }, usage.cachedInputTokens);
    metrics.tokens.inc({ kind: 'output' }, usage.outputTokens);
    metrics.tokens.inc({ kind: 'reasoning' }, usage.reasoningTokens);
  },
});
