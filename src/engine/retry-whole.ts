import type { TurnEvent } from '../canonical/turn-event.ts';
import type { Engine } from './engine.ts';

/** A turn that was lost in its middle is run once more. */
const ATTEMPTS = 2;

/**
 * For an answer that is sent whole: the client has seen nothing of a turn until it is over, so one
 * whose worker died in the middle is run again. Events come when the turn has ended.
 */
export const retryWhole = (engine: Engine): Engine => ({
  unheard: (request) => engine.unheard(request),
  async *run(request, signal) {
    for (let attempt = 1; ; attempt += 1) {
      const events: TurnEvent[] = [];
      for await (const event of engine.run(request, signal)) events.push(event);
      // One that was lost before it said anything has been tried again by the engine itself.
      if (attempt < ATTEMPTS && events.length > 1 && wasLost(events.at(-1))) continue;
      yield* events;
      return;
    }
  },
});

const wasLost = (last: TurnEvent | undefined): boolean =>
  last?.type === 'turn-ended' &&
  last.outcome.kind === 'failed' &&
  last.outcome.failure.kind === 'worker_lost';
