import { OpenItems } from '../canonical/open-items.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';

/**
 * `stop` for backends that have none: the answer ends before the first of these texts, also when it
 * comes in pieces, and nothing of it is sent. Only what may still become one is held back. Leaving
 * the source early interrupts the turn.
 */
export async function* stopAt(
  events: AsyncIterable<TurnEvent>,
  stops: readonly string[],
): AsyncGenerator<TurnEvent> {
  const open = new OpenItems();
  /** The end of each open message that may be the beginning of a stop. */
  const held = new Map<string, string>();
  const pass = (event: TurnEvent): TurnEvent => {
    open.follow(event);
    return event;
  };
  for await (const event of events) {
    if (event.type === 'message-ended') {
      const delta = held.get(event.itemId) ?? '';
      held.delete(event.itemId);
      if (delta !== '') yield pass({ type: 'text-delta', itemId: event.itemId, delta });
    }
    if (event.type !== 'text-delta') {
      yield pass(event);
      continue;
    }
    const { itemId } = event;
    const text = (held.get(itemId) ?? '') + event.delta;
    const match = firstMatch(text, stops);
    const safe = match === -1 ? text.length - heldLength(text, stops) : match;
    if (safe > 0) yield pass({ ...event, delta: text.slice(0, safe) });
    if (match === -1) {
      held.set(itemId, text.slice(safe));
      continue;
    }
    // What other messages hold back is theirs to the end.
    held.delete(itemId);
    for (const [other, delta] of held) {
      if (delta !== '') yield pass({ type: 'text-delta', itemId: other, delta });
    }
    yield* open.endAll(true);
    yield { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null };
    return;
  }
}

/**
 * Where the stop begins that is whole first, or -1. Whole first, because then the answer does not
 * depend on how the text is cut into deltas; of two that end together the longer one counts.
 */
const firstMatch = (text: string, stops: readonly string[]): number => {
  let first = { at: -1, end: Infinity };
  for (const stop of stops) {
    const at = text.indexOf(stop);
    const end = at + stop.length;
    if (at === -1 || end > first.end || (end === first.end && at > first.at)) continue;
    first = { at, end };
  }
  return first.at;
};

/** How much of the end of a text is the beginning of a stop. */
const heldLength = (text: string, stops: readonly string[]): number =>
  Math.max(
    0,
    ...stops.map((stop) => {
      let length = Math.min(stop.length - 1, text.length);
      while (length > 0 && !text.endsWith(stop.slice(0, length))) length -= 1;
      return length;
    }),
  );
