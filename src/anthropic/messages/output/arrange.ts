import { isMessage, isReasoning, isToolCall, type Produced } from '../../../canonical/request/item.ts';
import { itemIdOf, type TurnEvent } from '../../../canonical/events/turn-event.ts';
import { ItemQueue } from '../../../apis/item-queue.ts';
import { NoLateSummaries } from '../../../apis/shown-reasoning.ts';
import { isMcpCall } from './mcp-call.ts';
import { isWebSearch } from './web-search.ts';
import type { MessagesMeta } from './meta.ts';

/** Items that a message can show. */
const isShown = (head: Produced, { thinking }: Pick<MessagesMeta, 'thinking'>): boolean =>
  isReasoning(head)
    ? thinking !== null
    : isMessage(head) || isToolCall(head) || isWebSearch(head) || isMcpCall(head);

/** One item after the other, in the order they started: a stream of messages has one block at a time. */
export async function* arrange(
  events: AsyncIterable<TurnEvent>,
  meta: Pick<MessagesMeta, 'thinking'>,
): AsyncGenerator<TurnEvent> {
  const queue = new ItemQueue();
  const summaries = new NoLateSummaries();
  const hidden = new Set<string>();
  for await (const made of events) {
    const event = summaries.next(made);
    if (event === null) continue;
    const itemId = itemIdOf(event);
    if (event.type === 'item-started' && !isShown(event.item, meta)) hidden.add(event.item.id);
    if (itemId === null) yield event;
    else if (!hidden.has(itemId)) yield* queue.take(event, itemId);
  }
}
