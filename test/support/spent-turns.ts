import type { Outcome, TurnEnded, TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { Usage } from '../../src/canonical/events/usage.ts';
import { fixedAmbient } from './turn-events.ts';

/** The first and the last event of turns with usage. */

export const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };

const usage = (tokens: number): Usage => ({
  inputTokens: tokens,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: tokens,
  reasoningTokens: 0,
  totalTokens: 2 * tokens,
});

export const ended = (outcome: Outcome, tokens: number): TurnEnded => ({
  type: 'turn-ended',
  outcome,
  usage: usage(tokens),
  at: fixedAmbient().clock.now(),
});
