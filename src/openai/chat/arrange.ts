import type { TurnEvent } from '../../canonical/turn-event.ts';

/** What of a turn a chat answer shows. A transform in front of `render` and `fold`, so that both agree. */
export interface ArrangeOptions {
  readonly showReasoning: boolean;
  /** False where the content must be one JSON value. */
  readonly showCommentary: boolean;
}

/**
 * A chat answer is one text: messages come one after the other, in the order in which they began.
 * Models say their commentary first, so it stands first; one that comes later stays in its place,
 * because what is sent cannot be taken back.
 */
export async function* arrange(
  events: AsyncIterable<TurnEvent>,
  options: ArrangeOptions,
): AsyncGenerator<TurnEvent> {
  const arranger = new Arranger(options);
  for await (const event of events) yield* arranger.next(event);
}

class Arranger {
  readonly #options: ArrangeOptions;
  readonly #hidden = new Set<string>();
  #open: string | null = null;
  /** Events of messages that began while another one was open. */
  #waiting: TurnEvent[] = [];

  constructor(options: ArrangeOptions) {
    this.#options = options;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    switch (event.type) {
      case 'message-started':
        if (event.phase === 'commentary' && !this.#options.showCommentary) this.#hidden.add(event.itemId);
        else yield* this.#message(event);
        return;
      case 'text-delta':
      case 'refusal-delta':
      case 'message-ended':
        if (!this.#hidden.has(event.itemId)) yield* this.#message(event);
        return;
      case 'reasoning-started':
      case 'reasoning-summary-started':
      case 'reasoning-summary-delta':
      case 'reasoning-text-delta':
      case 'reasoning-ended':
        if (this.#options.showReasoning) yield event;
        return;
      case 'carried-item':
        return;
      case 'turn-accepted':
      case 'call-started':
      case 'call-delta':
      case 'call-ended':
      case 'turn-ended':
        yield event;
        return;
    }
  }

  *#message(event: TurnEvent & { readonly itemId: string }): Generator<TurnEvent> {
    this.#open ??= event.itemId;
    if (event.itemId !== this.#open) {
      this.#waiting.push(event);
      return;
    }
    yield event;
    if (event.type !== 'message-ended') return;
    this.#open = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) yield* this.next(one);
  }
}
