import { isMessage, isReasoning, isToolCall, type Produced } from '../../canonical/request/item.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { ItemQueue } from '../shared/item-queue.ts';

/** What of a turn a chat answer shows. A transform in front of `render` and `fold`, so that both agree. */
export interface ArrangeOptions {
  readonly showReasoning: boolean;
  /** False where the content must be one JSON value. */
  readonly showCommentary: boolean;
}

/**
 * A chat answer is one text: messages come one after the other, in the order in which they began, and so
 * does reasoning.
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
  /** Messages become one text, and so does reasoning; all else stands for itself. */
  readonly #messages = new ItemQueue();
  readonly #reasoning = new ItemQueue();
  readonly #lines = new Map<string, ItemQueue>();

  constructor(options: ArrangeOptions) {
    this.#options = options;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    const itemId = itemIdOf(event);
    if (itemId === null) {
      yield event;
      return;
    }
    if (event.type === 'item-started') this.#place(event.item);
    if (this.#hidden.has(itemId)) return;
    const queue = this.#lines.get(itemId);
    if (queue === undefined) yield event;
    else yield* queue.take(event, itemId);
  }

  #place(head: Produced): void {
    if (!this.#isShown(head)) this.#hidden.add(head.id);
    else if (isMessage(head)) this.#lines.set(head.id, this.#messages);
    else if (isReasoning(head)) this.#lines.set(head.id, this.#reasoning);
  }

  /** Chat has a place for messages, for calls of the client's tools, and for reasoning where it is wanted. */
  #isShown(head: Produced): boolean {
    if (isMessage(head)) return this.#options.showCommentary || head.phase !== 'commentary';
    return isReasoning(head) ? this.#options.showReasoning : isToolCall(head);
  }
}
