import { failure } from '../failure/failure.ts';
import type { Outcome, TurnEvent } from './turn-event.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Accumulator } from './accumulate.ts';
import { handleEvents } from './handle-events.ts';
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
export const wellFormed = (
  events: AsyncIterable<TurnEvent>,
  { clock, onThrow }: WellFormedOptions,
): AsyncIterable<TurnEvent> =>
  handleEvents(events, () => {
    const all = new Accumulator();
    let isEnded = false;
    const endedBy = (outcome: Outcome): readonly TurnEvent[] => [
      ...all.endOpen(statusAfter(outcome)),
      { type: 'turn-ended', outcome, usage: null, at: clock.now() },
    ];
    return {
      event(event) {
        if (event.type !== 'turn-ended') {
          all.add(event);
          return event;
        }
        isEnded = true;
        return [...all.endOpen(statusAfter(event.outcome), { isCut: event.isEndedHere === true }), event];
      },
      thrown(error) {
        if (onThrow === undefined) throw error;
        const outcome = onThrow(error);
        // The error came after `turn-ended`.
        return isEnded ? [] : endedBy(outcome);
      },
      ended: () => endedBy({ kind: 'failed', failure: failure('server_error') }),
    };
  });
