import { failure } from '../failure/failure.ts';
import type { Outcome } from './outcome.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Accumulator } from './accumulate.ts';
import type { ItemStatus } from '../request/item.ts';
import type { TurnEvent } from './turn-event.ts';

export interface WellFormedOptions {
  readonly clock: Clock;
  /** How a turn ended whose source threw; it may throw itself, and then so does the stream. */
  readonly onThrow?: (error: unknown) => Outcome;
}

/** Items that are still open when a turn ends like this are as whole as they will ever be, or cut. */
export const statusAfter = ({ kind }: Outcome): ItemStatus =>
  kind === 'completed' || kind === 'tool-calls' ? 'completed' : 'incomplete';

/**
 * Makes a stream keep the end of the grammar. Whoever cuts a turn only says `turn-ended`: here the open
 * items are ended in front of it, nothing comes behind it, and the source is left. A source that ends
 * without a word has failed.
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
        yield* all.endOpen(statusAfter(event.outcome));
        yield event;
        return;
      }
      all.add(event);
      yield event;
    }
  } catch (error) {
    if (onThrow === undefined) throw error;
    outcome = onThrow(error);
    // It said how it ended before it broke.
    if (isEnded) return;
  }
  yield* all.endOpen(statusAfter(outcome));
  yield { type: 'turn-ended', outcome, usage: null, at: clock.now() };
}
