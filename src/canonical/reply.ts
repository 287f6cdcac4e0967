import { assertNever } from '../kit/assert-never.ts';
import type { Outcome } from './outcome.ts';
import type {
  CallEnded,
  CarriedItemProduced,
  MessageEnded,
  ReasoningEnded,
  TurnEvent,
} from './turn-event.ts';
import type { Usage } from './usage.ts';

/** The fold of a turn's events: what a non-streaming answer is made of. */
export interface Reply {
  /** In the order in which they started, which is the order of `output_index`. */
  readonly items: readonly ReplyItem[];
  readonly outcome: Outcome;
  readonly usage: Usage | null;
}

export type ReplyItem = ReplyMessage | ReplyReasoning | ReplyCall | ReplyCarried;

/** What the event that ends an item says about it. */
type Ended<Kind extends string, Event extends { readonly type: string; readonly itemId: string }> = Omit<
  Event,
  'type' | 'itemId'
> & { readonly kind: Kind; readonly id: string };

export type ReplyMessage = Ended<'message', MessageEnded>;
export type ReplyReasoning = Ended<'reasoning', ReasoningEnded>;
export type ReplyCall = Ended<'call', CallEnded>;
export type ReplyCarried = Ended<'carried', CarriedItemProduced>;

/** What an ended item is; null for events that end nothing. */
export const endedItem = (event: TurnEvent): ReplyItem | null => {
  switch (event.type) {
    case 'message-ended': {
      const { type: _, itemId: id, ...rest } = event;
      return { kind: 'message', id, ...rest };
    }
    case 'reasoning-ended': {
      const { type: _, itemId: id, ...rest } = event;
      return { kind: 'reasoning', id, ...rest };
    }
    case 'call-ended': {
      const { type: _, itemId: id, ...rest } = event;
      return { kind: 'call', id, ...rest };
    }
    case 'carried-item': {
      const { type: _, itemId: id, ...rest } = event;
      return { kind: 'carried', id, ...rest };
    }
    case 'turn-accepted':
    case 'message-started':
    case 'text-delta':
    case 'refusal-delta':
    case 'reasoning-started':
    case 'reasoning-summary-started':
    case 'reasoning-summary-delta':
    case 'reasoning-text-delta':
    case 'call-started':
    case 'call-delta':
    case 'turn-ended':
      return null;
    default:
      return assertNever(event);
  }
};

/** Collects a reply event by event; `render` and `fold` share it, so they cannot disagree. */
export class ReplyBuilder {
  /** The index of each item in the final output: the order in which they started. */
  readonly #order = new Map<string, number>();
  readonly #items = new Map<string, ReplyItem>();
  #ended: { outcome: Outcome; usage: Usage | null } | null = null;

  add(event: TurnEvent): void {
    if (event.type === 'turn-ended') {
      this.#ended = { outcome: event.outcome, usage: event.usage };
      return;
    }
    if (event.type === 'turn-accepted') return;
    if (!this.#order.has(event.itemId)) this.#order.set(event.itemId, this.#order.size);
    const item = endedItem(event);
    if (item !== null) this.#items.set(item.id, item);
  }

  /** The index of an item in the final output. */
  indexOf(itemId: string): number {
    return this.#order.get(itemId) ?? -1;
  }

  build(): Reply {
    if (this.#ended === null) throw new Error('the turn has not ended');
    const items = [...this.#order.keys()].map((id) => {
      const item = this.#items.get(id);
      if (item === undefined) throw new Error(`item ${id} was started and never ended`);
      return item;
    });
    return { items, ...this.#ended };
  }
}

export const fold = async (events: AsyncIterable<TurnEvent>): Promise<Reply> => {
  const builder = new ReplyBuilder();
  for await (const event of events) builder.add(event);
  return builder.build();
};
