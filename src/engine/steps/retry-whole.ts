import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Plan } from '../engine.ts';
import { holdBack, release } from './hold-back.ts';
import { Settling } from './settling.ts';

/** A turn that was lost in its middle is run once more. */
const ATTEMPTS = 2;

/**
 * For an answer that is sent whole: the client has seen nothing of a turn until it is over, so one whose worker died
 * in the middle is run again. Only its acceptance is sent at once.
 */
export const retryWhole = (plan: Plan): Plan => ({
  ...plan,
  async *run(signal, onSettled) {
    for (let attempt = 1; ; attempt += 1) {
      const settling = new Settling(onSettled);
      let isAccepted = false;
      const held = yield* holdBack(plan.run(signal, settling.settle), {
        judge({ type }) {
          if (type !== 'turn-accepted') return 'hold';
          isAccepted = true;
          return attempt === 1 ? 'send' : 'drop';
        },
        whenFull: 'decide',
        settling,
        signal,
      });
      if (held === null) return;
      // The engine itself retries a turn that is lost before it is accepted.
      if (attempt < ATTEMPTS && isAccepted && wasLost(held.at(-1)) && !held.some(hasRun)) continue;
      settling.isLast();
      yield* release(held, signal);
      return;
    }
  },
});

const wasLost = (last: TurnEvent | undefined): boolean =>
  last?.type === 'turn-ended' &&
  last.outcome.kind === 'failed' &&
  last.outcome.failure.kind === 'worker_lost';

/** A tool has run, or may have run: running it again may not be harmless. */
const hasRun = (event: TurnEvent): boolean =>
  event.type === 'item-started' && event.item.kind === 'hosted-call' && event.item.modelCallId !== undefined;
