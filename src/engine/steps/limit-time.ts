import { failure } from '../../canonical/failure/failure.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Step } from './step.ts';

/** Ends turns that take too long. `turnTimeoutMs`: from the start of a turn to its last event; 0: no limit. */
export const limitTime: Step<{ readonly turnTimeoutMs: number; readonly clock: Clock }> = {
  name: 'limit-time',
  why: '`PROXY_TURN_TIMEOUT_MS`. Around everything that asks the model again, because the limit is for all of that together.',
  wrap: (next, { turnTimeoutMs, clock }) =>
    turnTimeoutMs === 0
      ? next
      : (...turn) => {
          const plan = next(...turn);
          return {
            ...plan,
            async *run(signal, onSettled) {
              const late = new AbortController();
              const timer = setTimeout(() => late.abort(), turnTimeoutMs);
              try {
                const either = AbortSignal.any([signal, late.signal]);
                yield* wellFormed(plan.run(either, onSettled), {
                  clock,
                  onThrow(error) {
                    if (signal.aborted || !late.signal.aborted) throw error;
                    return { kind: 'failed', failure: failure('turn_timeout') };
                  },
                });
              } finally {
                clearTimeout(timer);
              }
            },
          };
        },
};
