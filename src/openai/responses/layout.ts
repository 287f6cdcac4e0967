import type { TurnEvent } from '../../canonical/turn-event.ts';
import type { IdSource } from '../../kit/ambient.ts';

/**
 * Which items an answer shows, and in which order. A layout is an event→event transform in front of
 * `render` and `fold`, so that a stream and its JSON form agree by construction: `output_index` is
 * the order in which items start.
 */
export interface LayoutOptions {
  readonly layout: 'message-first' | 'natural';
  /** Reasoning items stand in a message-first answer only for clients that asked for them. */
  readonly showReasoning: boolean;
  readonly ids: IdSource;
}

export async function* arrange(
  events: AsyncIterable<TurnEvent>,
  options: LayoutOptions,
): AsyncGenerator<TurnEvent> {
  if (options.layout === 'natural') {
    yield* events;
    return;
  }
  const messageFirst = new MessageFirst(options);
  for await (const event of events) yield* messageFirst.next(event);
}

/**
 * `output[0]` is the message, also when the model only calls tools. When something else comes
 * first, the message is opened ahead of it and filled by the model's first message.
 */
class MessageFirst {
  readonly #options: LayoutOptions;
  /** The message at index 0 once it is open; `open` until it is ended. */
  #lead: { readonly itemId: string; open: boolean } | null = null;
  /** The model's name for the message that fills a lead opened ahead of it. */
  #filledBy: string | null = null;

  constructor(options: LayoutOptions) {
    this.#options = options;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    switch (event.type) {
      case 'message-started':
        if (this.#lead === null) {
          this.#lead = { itemId: event.itemId, open: true };
          yield event;
        } else if (this.#lead.open && this.#filledBy === null) {
          this.#filledBy = event.itemId;
        } else {
          yield event;
        }
        return;
      case 'text-delta':
      case 'refusal-delta':
        yield event.itemId === this.#filledBy ? { ...event, itemId: this.#leadId() } : event;
        return;
      case 'message-ended': {
        const itemId = event.itemId === this.#filledBy ? this.#leadId() : event.itemId;
        if (this.#lead?.itemId === itemId) this.#lead.open = false;
        yield itemId === event.itemId ? event : { ...event, itemId };
        return;
      }
      case 'reasoning-started':
      case 'reasoning-summary-started':
      case 'reasoning-summary-delta':
      case 'reasoning-text-delta':
      case 'reasoning-ended':
        if (!this.#options.showReasoning) return;
        yield* this.#openLead();
        yield event;
        return;
      case 'turn-ended':
        // A turn that failed before it said anything has no message, not even an empty one.
        if (event.outcome.kind !== 'failed') yield* this.#openLead();
        yield* this.#closeEmptyLead();
        yield event;
        return;
      case 'call-started':
      case 'carried-item':
        yield* this.#openLead();
        yield* this.#closeEmptyLead();
        yield event;
        return;
      case 'turn-accepted':
      case 'call-delta':
      case 'call-ended':
        yield event;
        return;
    }
  }

  #leadId(): string {
    if (this.#lead === null) throw new Error('the lead message is open');
    return this.#lead.itemId;
  }

  *#openLead(): Generator<TurnEvent> {
    if (this.#lead !== null) return;
    this.#lead = { itemId: this.#options.ids.mint('msg'), open: true };
    yield { type: 'message-started', itemId: this.#lead.itemId, phase: null };
  }

  /** Ends a lead that was opened ahead and never filled; one that the model fills ends itself. */
  *#closeEmptyLead(): Generator<TurnEvent> {
    if (this.#lead === null || !this.#lead.open || this.#filledBy !== null) return;
    this.#lead.open = false;
    const { itemId } = this.#lead;
    yield {
      type: 'message-ended',
      itemId,
      text: '',
      refusal: null,
      phase: null,
      annotations: [],
      logprobs: [],
      complete: true,
    };
  }
}
