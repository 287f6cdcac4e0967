import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { charsIn } from '../../kit/json/json.ts';

/** An event counts as at least so much: its frame is longer than its text, and is stored for background responses. */
const MIN_CHARS = 32;

/** How much of an answer each event is. Every text counts once, whether it was streamed or came whole. */
export class AnswerSize {
  /** What was counted of the open items. */
  readonly #open = new Map<string, number>();

  /** What the event adds to the answer, in characters. */
  of(event: TurnEvent): number {
    switch (event.type) {
      case 'item-delta': {
        const { delta, logprobs, annotation } = event;
        return this.#add(event.itemId, delta.length + charsIn([logprobs, annotation]));
      }
      case 'item-started':
        return this.#add(event.item.id, charsIn(event.item));
      case 'item-ended': {
        const counted = this.#open.get(event.item.id) ?? 0;
        this.#open.delete(event.item.id);
        return Math.max(charsIn(event.item) - counted, 0);
      }
      case 'item-status':
        // Previews of images are not part of the answer.
        return MIN_CHARS;
      case 'turn-accepted':
      case 'turn-ended':
        return 0;
      default:
        return assertNever(event);
    }
  }

  #add(itemId: string, size: number): number {
    const chars = Math.max(size, MIN_CHARS);
    this.#open.set(itemId, (this.#open.get(itemId) ?? 0) + chars);
    return chars;
  }
}
