import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Step } from './step.ts';

/** Ends an answer by the rules of a dialect; `leave` interrupts its turn, also one that says nothing more. */
export type EndEarly = (events: AsyncIterable<TurnEvent>, leave: () => void) => AsyncIterable<TurnEvent>;

/** Ends the answer where the dialect of the client says so, and its turn with it. */
export const stopEarly: Step<{ readonly stopEarly: EndEarly | null }> = {
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
