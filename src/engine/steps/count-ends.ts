import type { Produced } from '../../canonical/request/item.ts';
import type { TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { addUsage } from '../../canonical/events/usage.ts';
import { unlessAborted } from '../../kit/async/abort.ts';
import { countUsage, type Counting } from '../count-tokens.ts';
import type { Plan } from '../engine.ts';

/** A plan whose answer has a usage also where this server ends it, and the upstream therefore gives none. */
export const countEnds = (
  plan: Plan,
  { request, context }: Turn,
  counter: Pick<Counting, 'tokenizer' | 'clock'>,
): Plan => ({
  ...plan,
  async *run(signal, onSettled): AsyncGenerator<TurnEvent> {
    const items: Produced[] = [];
    const source = plan.run(signal, onSettled)[Symbol.asyncIterator]();
    try {
      for (let step = await source.next(); step.done !== true; step = await source.next()) {
        const event = step.value;
        if (event.type === 'item-ended') items.push(event.item);
        if (!needsCount(event)) {
          yield event;
          continue;
        }
        // The turn is interrupted now, not after the count.
        const left = Promise.resolve(source.return?.());
        left.catch(() => {});
        const counted = await unlessAborted(
          countUsage(request, items, { ...counter, caller: context.caller.keyId, signal }),
          signal,
        );
        yield { ...event, usage: addUsage(event.usage, counted) };
        await left;
        return;
      }
    } finally {
      await source.return?.();
    }
  },
});

const needsCount = (event: TurnEvent): event is TurnEnded =>
  event.type === 'turn-ended' && event.isEndedHere === true && event.outcome.kind !== 'failed';
