import { assertNever } from '../kit/assert-never.ts';
import type { Json, JsonObject } from '../kit/json.ts';
import type { Phase } from './item.ts';
import type { Outcome } from './outcome.ts';
import type { TurnEvent } from './turn-event.ts';
import type { Usage } from './usage.ts';

/** The fold of a turn's events: what a non-streaming answer is made of. */
export interface Reply {
  /** In the order in which they started, which is the order of `output_index`. */
  readonly items: readonly ReplyItem[];
  readonly outcome: Outcome;
  readonly usage: Usage | null;
}

export type ReplyItem = ReplyMessage | ReplyReasoning | ReplyCall | ReplyCarried;

export interface ReplyMessage {
  readonly kind: 'message';
  readonly id: string;
  readonly text: string;
  readonly refusal: string | null;
  readonly phase: Phase | null;
  readonly annotations: readonly Json[];
  readonly logprobs: readonly Json[];
  readonly complete: boolean;
}
export interface ReplyReasoning {
  readonly kind: 'reasoning';
  readonly id: string;
  readonly summary: readonly string[];
  readonly content: readonly string[];
  readonly encryptedContent: string | null;
  readonly complete: boolean;
}
export interface ReplyCall {
  readonly kind: 'call';
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly complete: boolean;
}
export interface ReplyCarried {
  readonly kind: 'carried';
  readonly id: string;
  readonly wire: JsonObject & { readonly type: string };
}

/** What an ended item is; null for events that end nothing. */
export const endedItem = (event: TurnEvent): ReplyItem | null => {
  switch (event.type) {
    case 'message-ended':
      return {
        kind: 'message',
        id: event.itemId,
        text: event.text,
        refusal: event.refusal,
        phase: event.phase,
        annotations: event.annotations,
        logprobs: event.logprobs,
        complete: event.complete,
      };
    case 'reasoning-ended':
      return {
        kind: 'reasoning',
        id: event.itemId,
        summary: event.summary,
        content: event.content,
        encryptedContent: event.encryptedContent,
        complete: event.complete,
      };
    case 'call-ended':
      return {
        kind: 'call',
        id: event.itemId,
        callId: event.callId,
        name: event.name,
        arguments: event.arguments,
        complete: event.complete,
      };
    case 'carried-item':
      return { kind: 'carried', id: event.itemId, wire: event.wire };
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
  readonly #order: string[] = [];
  readonly #items = new Map<string, ReplyItem>();
  #ended: { outcome: Outcome; usage: Usage | null } | null = null;

  add(event: TurnEvent): void {
    if (event.type === 'turn-ended') {
      this.#ended = { outcome: event.outcome, usage: event.usage };
      return;
    }
    if (event.type === 'turn-accepted') return;
    if (!this.#order.includes(event.itemId)) this.#order.push(event.itemId);
    const item = endedItem(event);
    if (item !== null) this.#items.set(item.id, item);
  }

  /** The index of an item in the final output. */
  indexOf(itemId: string): number {
    return this.#order.indexOf(itemId);
  }

  build(): Reply {
    if (this.#ended === null) throw new Error('the turn has not ended');
    const items = this.#order.map((id) => {
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
