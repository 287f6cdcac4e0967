import type { TurnEvent } from '../canonical/turn-event.ts';
import { breathe } from '../kit/loop-turns.ts';
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
  readonly #queue: TurnEvent[] = [];
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
      if (this.#join(event)) {
        more += textSize(event);
      } else {
        more += sizeOf(event);
        this.#queue.push(event);
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
        await breathe();
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
    const event = this.#queue[this.#head];
    if (event === undefined) return undefined;
    this.#head += 1;
    this.#count(-sizeOf(event));
    if (this.#head === this.#queue.length) {
      this.#queue.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#queue.splice(0, this.#head);
      this.#head = 0;
    }
    return event;
  }

  #join(event: TurnEvent): boolean {
    const last = this.#queue.length - 1;
    const previous = this.#queue[last];
    if (this.#queue.length - this.#head < COALESCE_ABOVE || previous === undefined) return false;
    if (!('delta' in event) || !('delta' in previous) || !isSameText(event, previous)) return false;
    this.#queue[last] = { ...previous, delta: previous.delta + event.delta };
    return true;
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

type Delta = Extract<TurnEvent, { readonly delta: string }>;

const isSameText = (a: Delta, b: Delta): boolean =>
  a.type === b.type &&
  a.itemId === b.itemId &&
  ('index' in a ? a.index : null) === ('index' in b ? b.index : null);

/** An event without its text. */
export const EVENT_BYTES = 100;

/** What an event costs to keep, roughly. */
const sizeOf = (event: TurnEvent): number => EVENT_BYTES + textSize(event);

const textSize = (event: TurnEvent): number => {
  if ('delta' in event) return event.delta.length;
  if (event.type === 'message-ended') return event.text.length;
  if (event.type === 'call-ended') return event.arguments.length;
  return 0;
};
