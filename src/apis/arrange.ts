import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { isReasoning, type Reasoning } from '../canonical/request/item.ts';

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

/** The list of reasoning texts that an answer with one place for reasoning shows: the summary, or else the raw text. */
export const shownList = ({ summary }: Reasoning): 'summary' | 'content' =>
  summary.some((text) => text !== '') ? 'summary' : 'content';

/** The reasoning texts that such an answer shows. */
export const shownReasoning = (item: Reasoning): readonly string[] => item[shownList(item)] ?? [];

/**
 * Drops summaries that follow raw text, which few models write: a stream has shown the raw text by then, and the JSON
 * answer has to agree with it. Raw text that follows a summary stays, for clients that send it back; it is not shown.
 */
export class NoLateSummaries {
  /** The items whose raw text came first. */
  readonly #raw = new Set<string>();
  readonly #summarized = new Set<string>();

  /** The event without a late summary; null: it is nothing else. */
  next(event: TurnEvent): TurnEvent | null {
    if (event.type === 'item-delta' && typeof event.at === 'object') {
      const { itemId, at, delta } = event;
      if (at.list === 'summary') {
        if (this.#raw.has(itemId)) return null;
        if (delta !== '') this.#summarized.add(itemId);
      } else if (delta !== '' && !this.#summarized.has(itemId)) this.#raw.add(itemId);
      return event;
    }
    if (event.type !== 'item-ended' || !isReasoning(event.item)) return event;
    const { item } = event;
    this.#summarized.delete(item.id);
    return this.#raw.delete(item.id) && item.summary.length > 0
      ? { ...event, item: { ...item, summary: [] } }
      : event;
  }
}
