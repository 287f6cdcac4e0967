import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { isToolCall, type Produced } from '../../canonical/request/item.ts';
import { isClientCall } from '../../canonical/request/tool.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Step } from './step.ts';

/** Ends answers whose client has more to say. */
export const endSteered: Step<{ readonly clock: Clock }> = {
  name: 'end-steered',
  why: '`response.steer` of a WebSocket: the answer ends between two items, and another one continues it with the new input. Inside the count, because the upstream never reports the usage of such an answer.',
  wrap:
    (next, { clock }) =>
    (request, context) => {
      const plan = next(request, context);
      const { isSteered } = context;
      if (isSteered === undefined) return plan;
      return { ...plan, run: (...how) => untilSteered(plan.run(...how), isSteered, clock) };
    },
};

/**
 * Ends in place of the next item. An item that has begun is finished, and after a call that the client has to answer the
 * model ends by itself. Leaving the source early interrupts the turn.
 */
async function* untilSteered(
  events: AsyncIterable<TurnEvent>,
  isSteered: () => boolean,
  clock: Clock,
): AsyncGenerator<TurnEvent> {
  let open = 0;
  let hasCalls = false;
  for await (const event of events) {
    if (event.type === 'item-started') {
      if (open === 0 && !hasCalls && isSteered()) {
        const outcome = { kind: 'incomplete', reason: 'steered' } as const;
        yield { type: 'turn-ended', outcome, usage: null, isEndedHere: true, at: clock.now() };
        return;
      }
      open += 1;
      hasCalls ||= isForClient(event.item);
    } else if (event.type === 'item-ended') open -= 1;
    yield event;
  }
}

/** Whether it is a call that the client has to answer. */
export const isForClient = (item: Produced): boolean =>
  isToolCall(item) || ('raw' in item && isClientCall(item.raw.type));
