import { failure } from '../canonical/failure.ts';
import { wellFormed } from '../canonical/well-formed.ts';
import type { Clock } from '../kit/ambient.ts';
import type { Engine } from './engine.ts';

/** Ends turns that take longer than this, from their start to their last event; 0: none. */
export const limitTime = (engine: Engine, limitMs: number, clock: Clock): Engine =>
  limitMs === 0
    ? engine
    : {
        unheard: (request) => engine.unheard(request),
        async *run(request, signal, onSettled) {
          const late = new AbortController();
          const timer = setTimeout(() => late.abort(), limitMs);
          try {
            const either = AbortSignal.any([signal, late.signal]);
            yield* wellFormed(engine.run(request, either, onSettled), {
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
