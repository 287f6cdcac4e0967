import { isMessage, type Produced } from '../../../canonical/request/item.ts';
import { itemIdOf, type TurnEvent } from '../../../canonical/events/turn-event.ts';
import { ItemQueue } from '../../../apis/item-queue.ts';

/** Items that a message can show. */
const isShown = (head: Produced): boolean => isMessage(head);

/** One item after the other, in the order they started: a stream of messages has one block at a time. */
export async function* arrange(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
  const queue = new ItemQueue();
  const hidden = new Set<string>();
  for await (const event of events) {
    const itemId = itemIdOf(event);
    if (event.type === 'item-started' && !isShown(event.item)) hidden.add(event.item.id);
    if (itemId === null) yield event;
    else if (!hidden.has(itemId)) yield* queue.take(event, itemId);
  }
}
