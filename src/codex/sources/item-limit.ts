import { failure } from '../../canonical/failure/failure.ts';
import type { Outcome } from '../../canonical/events/turn-event.ts';

/** More than any answer has. The app-server's time for output items grows quadratically: 40,000 take a minute. */
export const MAX_ITEMS = 5_000;

/** How a turn with this many items ends; null if it may continue. */
export const itemLimitOutcome = (items: number): Outcome | null => {
  if (items <= MAX_ITEMS) return null;
  const message = `The answer of the upstream has too many output items: at most ${MAX_ITEMS} are accepted.`;
  return { kind: 'failed', failure: failure('too_many_output_items', { message }) };
};
