import type { TurnEvent } from '../canonical/events/turn-event.ts';

/** Serializes items: emits the events of one item at a time, in the order the items started. */
export class ItemQueue {
  #open: string | null = null;
  /** Events of items that started while another one was open, by item. */
  readonly #waiting = new Map<string, TurnEvent[]>();

  *take(event: TurnEvent, itemId: string): Generator<TurnEvent> {
    this.#open ??= itemId;
    if (itemId !== this.#open) {
      const waiting = this.#waiting.get(itemId) ?? [];
      waiting.push(event);
      this.#waiting.set(itemId, waiting);
      return;
    }
    yield event;
    let isOver = event.type === 'item-ended';
    while (isOver) {
      const [next] = this.#waiting;
      if (next === undefined) {
        this.#open = null;
        return;
      }
      const [nextId, events] = next;
      this.#waiting.delete(nextId);
      this.#open = nextId;
      yield* events;
      isOver = events.at(-1)?.type === 'item-ended';
    }
  }
}
