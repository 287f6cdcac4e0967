import type { TurnEvent } from '../canonical/turn-event.ts';

/** Items one after the other, in the order in which they began. */
export class Line {
  #open: string | null = null;
  /** Events of items that began while another one was open. */
  #waiting: (readonly [event: TurnEvent, itemId: string])[] = [];

  *take(event: TurnEvent, itemId: string): Generator<TurnEvent> {
    this.#open ??= itemId;
    if (itemId !== this.#open) {
      this.#waiting.push([event, itemId]);
      return;
    }
    yield event;
    if (event.type !== 'item-ended') return;
    this.#open = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) yield* this.take(...one);
  }
}
