import { isPassing } from '../../../turns/insistently.ts';
import type { EventBatch, EventStore } from '../store/port.ts';

/** The events of a stream in memory, as their readers see them. */
export interface LiveEvents {
  /** The texts of the events from this number on, as far as there are some; null: they are only in the store. */
  from(number: number): readonly string[] | null;
  /** Nothing is added any more. */
  readonly isEnded: boolean;
}

export interface EventLogOptions {
  readonly owner: string;
  readonly responseId: string;
  /** The number of the first event. */
  readonly first: number;
  readonly store: Pick<EventStore, 'append'>;
  /** The time between two writes: what comes earlier is collected. */
  readonly batchMs: number;
  /** When the events expire if the run never ends. */
  readonly expiresAt: number;
  /** Called with the first error of each failing write, which is tried again. */
  readonly onError: (error: unknown) => void;
  /** New events are written, or the log has ended. */
  readonly onChange: () => void;
}

/** A batch of so many characters is written at once. */
const BATCH_CHARS = 32 * 1024;
/** Written events that stay in memory for readers that are not far behind. */
const RECENT_CHARS = 64 * 1024;
/** The run waits while so much is not written. */
const MAX_UNWRITTEN_CHARS = 256 * 1024;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2_000;

/**
 * Writes the events of a run to the store, in batches, and keeps the recent ones for readers on this instance. The slower
 * the store, the larger the batches. No reader sees an event that is not written: if this process dies, the numbers of
 * the events go on after the last one that any reader knows.
 */
export class EventLog implements LiveEvents {
  readonly #options: EventLogOptions;
  /** The events from `#first` on. */
  readonly #texts: string[] = [];
  #first: number;
  /** The number of the next event to be written. */
  #unwritten: number;
  #recentChars = 0;
  #unwrittenChars = 0;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  /** How many wait until everything is written. */
  #flushes = 0;
  /** When the next write may begin. */
  #nextWriteAtMs = 0;
  #state: 'open' | 'ended' | 'abandoned' = 'open';
  #written = Promise.withResolvers<void>();

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#first = options.first;
    this.#unwritten = options.first;
  }

  /** The number of the next event. */
  get next(): number {
    return this.#first + this.#texts.length;
  }

  get isEnded(): boolean {
    return this.#isAbandoned() || (this.#state === 'ended' && this.#unwritten === this.next);
  }

  add(text: string): void {
    if (this.#state !== 'open') throw new Error('the log has ended');
    this.#texts.push(text);
    this.#unwrittenChars += text.length;
    this.#schedule();
  }

  /** Waits until there is room for more, or the log is abandoned. */
  async room(): Promise<void> {
    while (this.#unwrittenChars > MAX_UNWRITTEN_CHARS && this.#state === 'open') await this.#written.promise;
  }

  /** Waits until all events are written, or the log is abandoned. */
  async flush(): Promise<void> {
    this.#flushes += 1;
    this.#schedule();
    while (this.#unwritten < this.next && this.#state !== 'abandoned') await this.#written.promise;
    this.#flushes -= 1;
  }

  /** The last event was added. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#options.onChange();
  }

  /** Writes nothing more. */
  abandon(): void {
    this.#state = 'abandoned';
    clearTimeout(this.#timer);
    this.#options.onChange();
    this.#wakeWriters();
  }

  from(number: number): readonly string[] | null {
    return number < this.#first
      ? null
      : this.#texts.slice(number - this.#first, this.#unwritten - this.#first);
  }

  #schedule(): void {
    if (this.#isWriting || this.#unwritten === this.next || this.#state === 'abandoned') return;
    const isDue = this.#flushes > 0 || this.#unwrittenChars >= BATCH_CHARS;
    if (isDue) {
      clearTimeout(this.#timer);
      void this.#write();
    } else {
      const delayMs = Math.max(0, this.#nextWriteAtMs - performance.now());
      this.#timer ??= setTimeout(() => void this.#write(), delayMs);
    }
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    this.#isWriting = true;
    const texts = this.#texts.slice(this.#unwritten - this.#first);
    const batch = { first: this.#unwritten, last: this.next - 1, body: texts.join('') };
    const startedAtMs = performance.now();
    if (await this.#append(batch)) {
      const tookMs = performance.now() - startedAtMs;
      this.#nextWriteAtMs = startedAtMs + Math.max(this.#options.batchMs, 2 * tookMs);
      this.#unwritten = batch.last + 1;
      this.#unwrittenChars -= batch.body.length;
      this.#recentChars += batch.body.length;
      this.#trim();
      this.#options.onChange();
    }
    this.#isWriting = false;
    this.#wakeWriters();
    this.#schedule();
  }

  /** Tries until it succeeds: a repeated batch changes nothing. False: the log was abandoned. */
  async #append(batch: EventBatch): Promise<boolean> {
    const { store, owner, responseId, expiresAt, onError } = this.#options;
    for (let pauseMs = FIRST_RETRY_MS; !this.#isAbandoned(); pauseMs = Math.min(2 * pauseMs, MAX_RETRY_MS)) {
      try {
        await store.append(owner, responseId, batch, expiresAt);
        return true;
      } catch (error) {
        if (pauseMs === FIRST_RETRY_MS) onError(error);
        // Another instance runs the response now, and writes its events.
        if (!isPassing(error)) this.abandon();
      }
      if (this.#isAbandoned()) break;
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs);
      });
    }
    return false;
  }

  #isAbandoned(): boolean {
    return this.#state === 'abandoned';
  }

  #trim(): void {
    while (this.#recentChars > RECENT_CHARS && this.#first < this.#unwritten) {
      this.#recentChars -= this.#texts.shift()?.length ?? 0;
      this.#first += 1;
    }
  }

  #wakeWriters(): void {
    this.#written.resolve();
    this.#written = Promise.withResolvers();
  }
}
