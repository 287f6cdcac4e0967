import type { Json } from '../../kit/json/json.ts';
import type { ItemDelta, ItemEnded, TurnEnded, TurnEvent, TurnResult } from './turn-event.ts';
import { append } from '../../kit/collections/lists.ts';
import { endItem, type ItemStatus, type Produced, type ItemContent, type Slot } from '../request/item.ts';

/** The complete result of a turn, folded from its events. */
/** A turn that has ended, without its items. */
interface ReplyEnd extends TurnResult {
  /** When the turn ended, in milliseconds since the Unix epoch. */
  readonly endedAt: number;
}

export interface Reply extends ReplyEnd {
  /** In the order they started, which is the order of `output_index`. */
  readonly items: readonly Produced[];
}

/** What the last event says about the whole turn. */
export const endOf = ({ outcome, usage, at, isUnstored }: TurnEnded): ReplyEnd => ({
  outcome,
  usage,
  endedAt: at,
  ...(isUnstored === true ? { isUnstored } : {}),
});

/** Collects the content of an open item from its deltas. */
class ItemContentBuilder implements ItemContent {
  text = '';
  refusal: string | null = null;
  input = '';
  output = '';
  readonly summary: string[] = [];
  readonly reasoning: string[] = [];
  readonly annotations: Json[] = [];
  readonly logprobs: Json[] = [];

  add({ at, delta, logprobs, annotation }: ItemDelta): void {
    if (at === 'refusal') this.refusal = (this.refusal ?? '') + delta;
    else if (typeof at === 'string') this[at] += delta;
    else this.#addTo(this[at.list], at.index, delta);
    if (logprobs !== undefined) append(this.logprobs, logprobs);
    if (annotation !== undefined) this.annotations.push(annotation);
  }

  at(slot: Slot): string {
    return typeof slot === 'string' ? (this[slot] ?? '') : (this[slot.list][slot.index] ?? '');
  }

  #addTo(list: string[], index: number, delta: string): void {
    while (list.length <= index) list.push('');
    list[index] += delta;
  }
}

/**
 * Tracks the items of an event stream: their order, the content of open ones, and the ended ones. Code that
 * ends a turn early uses it to close open items, and JSON answers are built from it. So a stream and its JSON
 * form always agree.
 */
export class Accumulator {
  readonly #open = new Map<string, { readonly head: Produced; readonly content: ItemContentBuilder }>();
  /** By id, in the order they started; `ended` is null while an item is open. */
  readonly #items = new Map<string, { readonly index: number; ended: Produced | null }>();
  #end: ReplyEnd | null = null;

  add(event: TurnEvent): void {
    switch (event.type) {
      case 'item-started':
        this.#open.set(event.item.id, { head: event.item, content: new ItemContentBuilder() });
        this.#place(event.item.id);
        return;
      case 'item-delta':
        this.#open.get(event.itemId)?.content.add(event);
        return;
      case 'item-ended':
        this.#open.delete(event.item.id);
        this.#place(event.item.id).ended = event.item;
        return;
      case 'turn-ended':
        this.#end = endOf(event);
        return;
      case 'turn-accepted':
      case 'item-status':
    }
  }

  /** The item from `item-started`, if it is still open. */
  startedItem(itemId: string): Produced | null {
    return this.#open.get(itemId)?.head ?? null;
  }

  /** The content of an open item so far; null if it is not open. */
  contentOf(itemId: string): ItemContent | null {
    return this.#open.get(itemId)?.content ?? null;
  }

  /** The text of an open item so far, in one slot. */
  textOf(itemId: string, slot: Slot): string {
    return this.#open.get(itemId)?.content.at(slot) ?? '';
  }

  /** The index of an item in the final output. */
  indexOf(itemId: string): number {
    return this.#items.get(itemId)?.index ?? -1;
  }

  /** The number of started items. */
  get size(): number {
    return this.#items.size;
  }

  /** The ended items, from this index on. */
  endedFrom(index: number): readonly Produced[] {
    return [...this.#items.values()].slice(index).flatMap(({ ended }) => (ended === null ? [] : [ended]));
  }

  /** Ends the open items in their order, except those that `isKept` accepts. `isCut`: an open call is half written. */
  endOpen(
    status: ItemStatus,
    {
      isKept = () => false,
      isCut = false,
    }: { readonly isKept?: (itemId: string) => boolean; readonly isCut?: boolean } = {},
  ): readonly ItemEnded[] {
    const ends = [...this.#open.values()]
      .filter(({ head }) => !isKept(head.id))
      .map(({ head, content }): ItemEnded => {
        const own = isCut && head.kind === 'tool-call' ? 'incomplete' : status;
        return { type: 'item-ended', item: endItem(head, content, own) };
      });
    for (const end of ends) this.add(end);
    return ends;
  }

  reply(): Reply {
    if (this.#end === null) throw new Error('the turn has not ended');
    const items = [...this.#items].map(([id, { ended }]) => {
      if (ended === null) throw new Error(`item ${id} was started and never ended`);
      return ended;
    });
    return { items, ...this.#end };
  }

  #place(itemId: string): { readonly index: number; ended: Produced | null } {
    const known = this.#items.get(itemId) ?? { index: this.#items.size, ended: null };
    this.#items.set(itemId, known);
    return known;
  }
}

/** Reads all events of a turn into a reply. */
export const fold = async (events: AsyncIterable<TurnEvent>): Promise<Reply> => {
  const all = new Accumulator();
  for await (const event of events) all.add(event);
  return all.reply();
};
