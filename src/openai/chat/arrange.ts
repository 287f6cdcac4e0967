import { isMessage, isReasoning, isToolCall, type Produced } from '../../canonical/request/item.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { ItemQueue } from '../../apis/item-queue.ts';
import { NoLateSummaries } from '../../apis/shown-reasoning.ts';

/** Options for the content of a chat answer. */
export interface ArrangeOptions {
  readonly showReasoning: boolean;
  /** False if the content must be one JSON value. */
  readonly showCommentary: boolean;
}

/**
 * Serializes the messages of a turn, in the order they started, because a chat answer is one text; likewise its
 * reasoning. Runs before `render` and `fold`, so that both agree. Commentary keeps its position.
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
  /** Messages are joined to one text, and so is reasoning; calls are independent. */
  readonly #messages = new ItemQueue();
  readonly #reasoning = new ItemQueue();
  readonly #queues = new Map<string, ItemQueue>();
  readonly #summaries = new NoLateSummaries();

  constructor(options: ArrangeOptions) {
    this.#options = options;
  }

  *next(made: TurnEvent): Generator<TurnEvent> {
    const event = this.#summaries.next(made);
    if (event === null) return;
    const itemId = itemIdOf(event);
    if (itemId === null) {
      yield event;
      return;
    }
    if (event.type === 'item-started') this.#place(event.item);
    if (this.#hidden.has(itemId)) return;
    const queue = this.#queues.get(itemId);
    if (queue === undefined) yield event;
    else yield* queue.take(event, itemId);
  }

  #place(head: Produced): void {
    if (!this.#isShown(head)) this.#hidden.add(head.id);
    else if (isMessage(head)) this.#queues.set(head.id, this.#messages);
    else if (isReasoning(head)) this.#queues.set(head.id, this.#reasoning);
  }

  /** Chat has messages, calls of the client's tools, and reasoning if enabled. */
  #isShown(head: Produced): boolean {
    if (isMessage(head)) return this.#options.showCommentary || head.phase !== 'commentary';
    return isReasoning(head) ? this.#options.showReasoning : isToolCall(head);
  }
}
