import { isToolCall, type Item } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';

/**
 * Rewrites calls of custom tools as function calls whose `arguments` are the plain text, because Cursor declares custom
 * tools but reads `function.name` in every call. Runs before `render` and `fold`.
 */
export async function* asFunctionCalls(
  events: AsyncIterable<TurnEvent>,
  names: ReadonlySet<string>,
): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    const isOne =
      (event.type === 'item-started' || event.type === 'item-ended') &&
      isToolCall(event.item) &&
      names.has(event.item.name);
    yield isOne ? { ...event, item: { ...event.item, tool: 'function' } } : event;
  }
}

/** The reverse for input: turns such calls and their outputs back into those of a custom tool. */
export const asCustomCalls = (items: readonly Item[], names: ReadonlySet<string>): readonly Item[] => {
  if (names.size === 0) return items;
  const custom = new Set<string>();
  return items.map((item): Item => {
    if (item.kind === 'tool-output') {
      return item.callId !== null && custom.delete(item.callId)
        ? withoutId({ ...item, tool: 'custom' })
        : item;
    }
    if (item.kind !== 'tool-call' || item.tool === 'custom' || !names.has(item.name)) return item;
    custom.add(item.callId);
    return withoutId({ ...item, tool: 'custom' });
  });
};

/** The backend derives the item type from the prefix of the id. */
const withoutId = (item: Item): Item => {
  const { id: _, ...rest } = item;
  return rest;
};
