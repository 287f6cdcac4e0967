import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Usage } from '../canonical/events/usage.ts';
import type { Clock } from '../kit/ambient.ts';

/** No model has read or written anything. */
const NO_USAGE: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  totalTokens: 0,
};

/** A turn that ends at once, without a model. `onEnd` is called when it has been read, or its reader has left. */
export async function* emptyTurn(clock: Clock, onEnd: () => void): AsyncGenerator<TurnEvent> {
  try {
    yield { type: 'turn-ended', outcome: { kind: 'completed' }, usage: NO_USAGE, at: clock.now() };
  } finally {
    onEnd();
  }
}
