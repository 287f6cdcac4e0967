import { failure } from '../failure/failure.ts';
import type { Outcome, TurnEvent } from './turn-event.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Accumulator } from './accumulate.ts';
import type { ItemStatus } from '../request/item.ts';

export interface WellFormedOptions {
  readonly clock: Clock;
  /** Turns an error of the source into an outcome, or rethrows it. */
  readonly onThrow?: (error: unknown) => Outcome;
}

/** The status of items that are still open when a turn ends with this outcome. */
export const statusAfter = ({ kind }: Outcome): ItemStatus =>
  kind === 'completed' || kind === 'tool-calls' ? 'completed' : 'incomplete';

/**
 * Completes the end of an event stream. Code that ends a turn early only emits `turn-ended`; this ends the open
 * items before it, drops everything after it, and closes the source. A source that ends without `turn-ended`
 * counts as failed.
 */
export async function* wellFormed(
  events: AsyncIterable<TurnEvent>,
  { clock, onThrow }: WellFormedOptions,
): AsyncGenerator<TurnEvent> {
  const all = new Accumulator();
  let outcome: Outcome = { kind: 'failed', failure: failure('server_error') };
  let isEnded = false;
  try {
    for await (const event of events) {
      if (event.type === 'turn-ended') {
        isEnded = true;
        yield* all.endOpen(statusAfter(event.outcome), { isCut: event.isEndedHere === true });
        yield event;
        return;
      }
      all.add(event);
      yield event;
    }
  } catch (error) {
    if (onThrow === undefined) throw error;
    outcome = onThrow(error);
    // The error came after `turn-ended`.
    if (isEnded) return;
  }
  yield* all.endOpen(statusAfter(outcome));
  yield { type: 'turn-ended', outcome, usage: null, at: clock.now() };
}
