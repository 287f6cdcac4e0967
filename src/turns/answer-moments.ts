import type { Trace } from '../canonical/context/trace.ts';
import type { TurnObserver } from '../observe/observer.ts';

/** Notes when the first of the answers begins, and when each of them is complete. */
export const answerMoments = (trace: Trace): TurnObserver => {
  let hasBegun = false;
  return {
    onEvent(event) {
      if (event.type === 'turn-ended') trace.begin('end').end({ outcome: event.outcome.kind });
      else if (!hasBegun && event.type === 'item-delta') {
        hasBegun = true;
        trace.begin('first-delta').end();
      }
    },
  };
};
