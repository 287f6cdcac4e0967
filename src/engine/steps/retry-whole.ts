import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import type { Plan } from '../engine.ts';

/** A turn that was lost in its middle is run once more. */
const ATTEMPTS = 2;

/**
 * For an answer that is sent whole: the client has seen nothing of a turn until it is over, so one
 * whose worker died in the middle is run again. That it was accepted is told at once, the rest when
 * the turn has ended.
 */
export const retryWhole = (plan: Plan): Plan => ({
  ...plan,
  async *run(signal, onSettled) {
    for (let attempt = 1; ; attempt += 1) {
      const events: TurnEvent[] = [];
      let isAccepted = false;
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
      };
      for await (const event of plan.run(signal, settle)) {
        if (event.type !== 'turn-accepted') events.push(event);
        else if (attempt === 1) yield event;
        isAccepted ||= event.type === 'turn-accepted';
      }
      // One that was lost before it was accepted has been tried again by the engine itself.
      if (attempt < ATTEMPTS && isAccepted && wasLost(events.at(-1)) && !events.some(hasRun)) continue;
      // Not before: a turn that is run again needs its place.
      if (isSettled) onSettled?.();
      for (const event of events) {
        // All of a long answer at once: others are not to wait until it has been read.
        await yieldToLoop(signal);
        yield event;
      }
      return;
    }
  },
});

const wasLost = (last: TurnEvent | undefined): boolean =>
  last?.type === 'turn-ended' &&
  last.outcome.kind === 'failed' &&
  last.outcome.failure.kind === 'worker_lost';

/** A tool has run, or may have: once more is not the same. */
const hasRun = (event: TurnEvent): boolean =>
  event.type === 'item-started' && event.item.kind === 'hosted-call' && event.item.modelCallId !== undefined;
