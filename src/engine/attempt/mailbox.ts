import { isPlain, joinedDelta, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { charsIn } from '../../kit/json/json.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import type { UnreadAccount } from './unread-total.ts';

/**
 * Above this many unread events, deltas of the same text are joined: a slow reader sees fewer, larger
 * ones. It is more than the app-server can say in one read of its pipe (64 KiB), so a mere burst
 * reaches a fast reader delta by delta.
 */
export const COALESCE_ABOVE = 1024;

/**
 * The unread events of one turn. The app-server's connection is shared by all turns and cannot wait
 * for one slow reader, so events are kept here: joined when they pile up, and given up on when even
 * the joined text outgrows `maxBytes`.
 */
export class Mailbox implements AsyncIterable<TurnEvent> {
  readonly #queue: { readonly event: TurnEvent; readonly bytes: number }[] = [];
  readonly #maxBytes: number;
  /** Read position: shifting a long array for every event would be quadratic. */
  #head = 0;
  #bytes = 0;
  readonly #account: UnreadAccount | null;
  #closed = false;
  /** Thrown in place of what is unread. */
  #end: { readonly error: unknown } | null = null;
  #wake: (() => void) | null = null;

  constructor(maxBytes: number, account: UnreadAccount | null = null) {
    this.#maxBytes = maxBytes;
    this.#account = account;
  }

  /**
   * False when the reader was too far behind already: the caller ends the turn. What is pushed is taken
   * all the same, so one large event is no reason, and the end of a turn always finds its place.
   */
  push(events: readonly TurnEvent[]): boolean {
    const hasRoom = this.#bytes <= this.#maxBytes;
    if (this.#end !== null) return hasRoom;
    let more = 0;
    for (const event of events) {
      const chars = charsOf(event);
      if (this.#join(event, chars)) more += chars;
      else {
        more += EVENT_BYTES + chars;
        this.#queue.push({ event, bytes: EVENT_BYTES + chars });
      }
    }
    this.#count(more);
    if (this.#end !== null) this.#forget();
    this.#notify();
    return hasRoom;
  }

  /** Nothing more will come. What is unread stays readable. */
  close(): void {
    this.#closed = true;
    this.#notify();
  }

  /** Whoever reads has not read for too long: what is unread is forgotten, and the error is all that is left. */
  giveUp(error: unknown): void {
    this.#forget();
    this.#end = { error };
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent> {
    try {
      for (;;) {
        // However much there is to read: others get their turn.
        await yieldToLoop();
        const event = this.#take();
        if (event !== undefined) yield event;
        else if (this.#end !== null) throw this.#end.error;
        else if (this.#closed) return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.#forget();
    }
  }

  #forget(): void {
    this.#queue.length = 0;
    this.#head = 0;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    // First: whoever is furthest behind may be given up on for it, and that may be this one.
    this.#account?.add(bytes);
    this.#bytes += bytes;
  }

  #take(): TurnEvent | undefined {
    const entry = this.#queue[this.#head];
    if (entry === undefined) return undefined;
    this.#head += 1;
    this.#count(-entry.bytes);
    if (this.#head === this.#queue.length) {
      this.#queue.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    return entry.event;
  }

  #join(event: TurnEvent, chars: number): boolean {
    const last = this.#queue.length - 1;
    const previous = this.#queue[last];
    if (this.#queue.length - this.#head < COALESCE_ABOVE || previous === undefined) return false;
    const joined = joinedDelta(previous.event, event);
    if (joined === null) return false;
    this.#queue[last] = { event: joined, bytes: previous.bytes + chars };
    return true;
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** An event without its text. */
export const EVENT_BYTES = 100;

/** How much room an event takes while it is kept, about. */
export const bytesOf = (event: TurnEvent): number => EVENT_BYTES + charsOf(event);

/** What of an event is as long as the upstream makes it. */
const charsOf = (event: TurnEvent): number => {
  switch (event.type) {
    case 'item-delta':
      return event.delta.length + (isPlain(event) ? 0 : charsIn([event.logprobs, event.annotation]));
    case 'item-started':
    case 'item-ended':
      return charsIn(event.item);
    case 'item-status':
      return event.more === undefined ? 0 : charsIn(event.more);
    case 'turn-accepted':
    case 'turn-ended':
      return 0;
    default:
      return assertNever(event);
  }
};
