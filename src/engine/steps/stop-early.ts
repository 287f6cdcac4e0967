import type { StopEarly } from '../../canonical/events/turn-event.ts';
import type { Step } from './step.ts';

/** Ends the answer, and its turn, where the dialect of the client says so. */
export const stopEarly: Step<{ readonly stopEarly: StopEarly | null }> = {
  name: 'stop-early',
  why: 'Some clients run tools as soon as they have read their calls. Around the repair, so that only valid calls end an answer.',
  wrap: (next, { stopEarly: endEarly }) =>
    endEarly === null
      ? next
      : (request, context) => {
          const plan = next(request, context);
          return {
            ...plan,
            async *run(signal, onSettled) {
              const left = new AbortController();
              const events = plan.run(AbortSignal.any([signal, left.signal]), onSettled);
              yield* endEarly(events, () => left.abort());
            },
          };
        },
};
