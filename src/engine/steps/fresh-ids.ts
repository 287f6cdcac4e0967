import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';

/** Renames items whose ids the client has seen in an earlier answer of the same turn: backends may use ids again. */
export class FreshIds {
  readonly #used = new Set<string>();
  #renamed = new Map<string, string>();

  async *answer(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
    this.nextAnswer();
    for await (const event of events) yield this.rename(event);
  }

  nextAnswer(): void {
    this.#renamed = new Map();
  }

  rename(event: TurnEvent): TurnEvent {
    const id = itemIdOf(event);
    if (id === null) return event;
    const fresh = this.#renamed.get(id) ?? this.#freshFor(id);
    if (fresh === id) return event;
    if (event.type === 'item-started' || event.type === 'item-ended') {
      return { ...event, item: { ...event.item, id: fresh } };
    }
    return event.type === 'item-delta' || event.type === 'item-status' ? { ...event, itemId: fresh } : event;
  }

  #freshFor(id: string): string {
    let fresh = id;
    for (let nth = 2; this.#used.has(fresh); nth += 1) fresh = `${id}_${nth}`;
    this.#used.add(fresh);
    this.#renamed.set(id, fresh);
    return fresh;
  }
}
