import type { Plan } from '../engine/engine.ts';
import type { StopEarly } from './api.ts';

/** A plan whose answer ends early, and its turn with it, even while it is silent. */
export const stopEarly = (plan: Plan, stop: StopEarly | null): Plan =>
  stop === null
    ? plan
    : {
        ...plan,
        async *run(signal, onSettled) {
          const left = new AbortController();
          const events = plan.run(AbortSignal.any([signal, left.signal]), onSettled);
          yield* stop(events, () => left.abort());
        },
      };
