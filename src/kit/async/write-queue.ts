import { mapAll, type OneOrMore } from '../collections/lists.ts';
import { within } from './wait.ts';

export interface WriteQueueOptions<Item> {
  /** Writes some items; again with the same ones if it has rejected. */
  readonly write: (items: OneOrMore<Item>) => Promise<unknown>;
  /** How long items are collected before they are written; 0 by default. */
  readonly delayMs?: number;
  /** The most items of one write; 1 by default. */
  readonly perWrite?: number;
  /** The most writes at the same time; 1 by default. */
  readonly atOnce?: number;
  /** The most items that wait, or the sum of their sizes. */
  readonly max: number;
  /** How many places of `max` an item takes; 1 by default. */
  readonly sizeOf?: (item: Item) => number;
  /** Whether an item whose write has failed so often is tried again. By default it is lost. */
  readonly retries?: (error: unknown, failures: number) => boolean;
  /** Called with the first of consecutive failures. */
  readonly onError?: (error: unknown) => void;
  /** Called with items that are not tried again. */
  readonly onLost?: (items: readonly Item[], error: unknown) => void;
}

interface Entry<Item> {
  readonly key: unknown;
  readonly item: Item;
  readonly size: number;
  failures: number;
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 5_000;

/**
 * Writes items a little later, so that no request waits for the store: in batches, again with growing pauses if it fails, and
 * never two writes of the same key at a time. A newer item replaces one of the same key that has not been written.
 */
export class WriteQueue<Item> {
  readonly #options: WriteQueueOptions<Item>;
  /** An item is here until it is written: also while that happens. */
  readonly #waiting = new Map<unknown, Entry<Item>>();
  #size = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  /** The pause before the next try; null: the last one succeeded. */
  #retryMs: number | null = null;
  #isFailing = false;

  constructor(options: WriteQueueOptions<Item>) {
    this.#options = options;
  }

  /** False: the queue is full, and the item is not written. */
  put(key: unknown, item: Item): boolean {
    const { sizeOf = () => 1, max } = this.#options;
    const size = sizeOf(item);
    if (this.#size - (this.#waiting.get(key)?.size ?? 0) + size > max) return false;
    this.#remove(key);
    this.#waiting.set(key, { key, item, size, failures: 0 });
    this.#size += size;
    this.#schedule();
    return true;
  }

  /** Writes everything that was put before the call. Rejects if something has to be tried again. */
  async flush(): Promise<void> {
    // One that runs may have begun before the last item was put.
    await this.#writing?.catch(() => undefined);
    if (this.#waiting.size > 0) await this.#start();
  }

  /** Writes what waits, and tries again as long as there is time. Returns what may not be written. */
  async close(withinMs: number): Promise<readonly Item[]> {
    await within(this.#tryToFlush(withinMs), withinMs);
    this.#stopTimer();
    return Array.from(this.#waiting.values(), ({ item }) => item);
  }

  async #tryToFlush(withinMs: number): Promise<void> {
    for (let leftMs = withinMs; ; leftMs -= this.#retryMs ?? 0) {
      const isWritten = await this.flush().then(
        () => true,
        () => false,
      );
      const pauseMs = this.#retryMs ?? 0;
      if (isWritten || pauseMs >= leftMs) return;
      // This loop tries instead of the timer.
      this.#stopTimer();
      await new Promise((resolve) => {
        setTimeout(resolve, pauseMs);
      });
    }
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #schedule(): void {
    if (this.#writing !== null) return;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = null;
        this.#start().catch(() => undefined);
      },
      this.#retryMs ?? this.#options.delayMs ?? 0,
    ).unref();
  }

  #start(): Promise<void> {
    this.#writing ??= this.#writeWaiting().finally(() => {
      this.#writing = null;
      if (this.#waiting.size > 0) this.#schedule();
    });
    return this.#writing;
  }

  /** What is put meanwhile is collected for the next time, unless it replaces what waits now. */
  async #writeWaiting(): Promise<void> {
    const { delayMs = 0, perWrite = 1, atOnce = 1 } = this.#options;
    const keys = [...this.#waiting.keys()];
    const round = perWrite * atOnce;
    for (let from = 0; from < keys.length; from += round) {
      const entries = keys.slice(from, from + round).flatMap((key) => this.#waiting.get(key) ?? []);
      const writes: Promise<void>[] = [];
      while (entries.length > 0) {
        const [first, ...rest] = entries.splice(0, perWrite);
        if (first !== undefined) writes.push(this.#write([first, ...rest]));
      }
      const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected');
      if (failed?.status !== 'rejected') continue;
      const nextMs = this.#retryMs === null ? Math.max(delayMs, FIRST_RETRY_MS) : 2 * this.#retryMs;
      this.#retryMs = Math.min(nextMs, MAX_RETRY_MS);
      throw failed.reason;
    }
    this.#retryMs = null;
  }

  /** Rejects if some of the items have to be tried again. */
  async #write(entries: OneOrMore<Entry<Item>>): Promise<void> {
    const { write, retries = () => false, onError, onLost } = this.#options;
    try {
      await write(mapAll(entries, ({ item }) => item));
      this.#isFailing = false;
      this.#done(entries);
    } catch (error) {
      if (!this.#isFailing) onError?.(error);
      this.#isFailing = true;
      for (const entry of entries) entry.failures += 1;
      const lost = entries.filter(({ failures }) => !retries(error, failures));
      this.#done(lost);
      if (lost.length > 0)
        onLost?.(
          lost.map(({ item }) => item),
          error,
        );
      if (lost.length < entries.length) throw error;
    }
  }

  /** An item that replaced one of these still waits. */
  #done(entries: readonly Entry<Item>[]): void {
    for (const entry of entries) if (this.#waiting.get(entry.key) === entry) this.#remove(entry.key);
  }

  #remove(key: unknown): void {
    this.#size -= this.#waiting.get(key)?.size ?? 0;
    this.#waiting.delete(key);
  }
}
