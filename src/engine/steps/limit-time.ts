import { failure } from '../../canonical/failure/failure.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Plan } from '../engine.ts';

/** Ends turns that take longer than this, from their start to their last event; 0: none. */
export const limitTime =
  (limitMs: number, clock: Clock) =>
  (plan: Plan): Plan =>
    limitMs === 0
      ? plan
      : {
          ...plan,
          async *run(signal, onSettled) {
            const late = new AbortController();
            const timer = setTimeout(() => late.abort(), limitMs);
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
