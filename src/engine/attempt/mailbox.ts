import { isPlain, joinedDelta, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { charsIn } from '../../kit/json/json.ts';
import { mustYield, yieldToLoop } from '../../kit/async/event-loop.ts';
import type { UnreadAccount } from './unread-total.ts';

/** With more unread events, deltas of a text are joined. One read of the app-server's pipe (64 KiB) has fewer. */
export const COALESCE_ABOVE = 1024;

type Step = IteratorResult<TurnEvent, undefined>;

const OVER: Step = { done: true, value: undefined };

/**
 * The unread events of one turn, because the app-server's connection is shared and cannot wait for a slow reader. Events
 * are joined when there are many. The limit of an answer bounds them (`turn-attempt.ts`), so a slow reader gets all of it.
 */
export class Mailbox implements AsyncIterable<TurnEvent> {
  readonly #queue: { readonly event: TurnEvent; readonly bytes: number }[] = [];
  /** Read position: shifting a long array for each event would be quadratic. */
  #head = 0;
  #bytes = 0;
  readonly #account: UnreadAccount | null;
  #closed = false;
  /** Thrown instead of the unread events. */
  #end: { readonly error: unknown } | null = null;
  /** Waits for the next event. */
  #reader: ((step: Step | Promise<Step>) => void) | null = null;

  constructor(account: UnreadAccount | null = null) {
    this.#account = account;
  }

  push(events: readonly TurnEvent[]): void {
    if (this.#end !== null) return;
    let more = 0;
    for (const event of events) {
      // A reader that waits for it gets it at once: it is never unread.
      if (this.#reader !== null && this.#queue.length === 0 && !mustYield()) {
        this.#handOver({ done: false, value: event });
        continue;
      }
      const chars = charsOf(event);
      if (this.#join(event, chars)) more += chars;
      else {
        more += EVENT_BYTES + chars;
        this.#queue.push({ event, bytes: EVENT_BYTES + chars });
      }
    }
    if (more > 0) this.#count(more);
    if (this.#end !== null) this.#forget();
    this.#wake();
  }

  /** Ends the events. Unread ones stay readable. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Drops what is unread; the reader gets the error. */
  giveUp(error: unknown): void {
    this.#forget();
    this.#end = { error };
    this.close();
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent, undefined> {
    return {
      next: this.#next,
      return: () => {
        this.#forget();
        this.#closed = true;
        this.#wake();
        return Promise.resolve(OVER);
      },
    };
  }

  readonly #next = (): Promise<Step> => {
    if (this.#queue.length > 0) {
      if (mustYield()) return yieldToLoop().then(() => this.#now());
      const event = this.#take();
      if (event !== undefined) return Promise.resolve({ done: false, value: event });
    }
    return this.#closed ? this.#now() : this.#wait();
  };

  #wait(): Promise<Step> {
    return new Promise((resolve) => {
      this.#reader = resolve;
    });
  }

  /** The next event, if there is one; else waits for it. */
  async #now(): Promise<Step> {
    const event = this.#take();
    if (event !== undefined) return { done: false, value: event };
    if (this.#end !== null) throw this.#end.error;
    if (this.#closed) return OVER;
    return this.#wait();
  }

  #handOver(step: Step | Promise<Step>): void {
    const reader = this.#reader;
    this.#reader = null;
    reader?.(step);
  }

  #wake(): void {
    if (this.#reader !== null && (this.#queue.length > 0 || this.#closed)) this.#handOver(this.#next());
  }

  #forget(): void {
    this.#queue.length = 0;
    this.#head = 0;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    // First, because this may give up on the slowest reader, which may be this one.
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
}

/** The memory of an event without its text, roughly. */
export const EVENT_BYTES = 100;

/** The memory of an event, roughly. */
export const bytesOf = (event: TurnEvent): number => EVENT_BYTES + charsOf(event);

/** The size of the part of an event whose length the upstream decides. */
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
