import type { TurnEvent } from '../../canonical/events/turn-event.ts';

/** Items one after the other, in the order in which they began. */
export class Line {
  #open: string | null = null;
  /** Events of items that began while another one was open, by item: each event is looked at once more, not again and again. */
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
