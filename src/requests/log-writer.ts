import { failureOf } from '../canonical/failure/failure.ts';
import { within } from '../kit/async/within.ts';
import type { RequestRow, RequestStore } from '../store/ports/requests.ts';

export interface LogWriterOptions {
  readonly store: RequestStore;
  /** How many rows the log has, on all servers together. */
  readonly maxRows: number;
  readonly onLost: (reason: 'full' | 'store', rows: number) => void;
  /** Called when writing begins to fail, not for every failure. */
  readonly onError: (error: unknown) => void;
  /** Between two writes. */
  readonly flushMs?: number;
}

const FLUSH_MS = 1_000;
/** Rows that wait. At a thousand requests a second the database may be away for this many seconds. */
const MAX_WAITING = 5_000;
const MAX_BATCH = 500;
/** The oldest rows are deleted after so many new ones, in steps. */
const TRIM_AFTER = 200;
const TRIM_ROWS = 500;
const MAX_TRIM_STEPS = 20;
const CLOSE_MS = 2_000;

/** Writes requests to the store in batches, so that no request waits for it. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  #waiting: RequestRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #sinceTrim = TRIM_AFTER;
  #isFailing = false;

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  add(row: RequestRow): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#options.onLost('full', 1);
      return;
    }
    this.#waiting.push(row);
    this.#schedule();
  }

  /** Writes what waits. Does not reject: what could not be written is tried again later. */
  async flush(): Promise<void> {
    // What a write that runs already has taken is not what waits.
    await this.#writing;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
      if (this.#waiting.length > 0) this.#schedule();
    });
    await this.#writing;
  }

  async close(): Promise<void> {
    await within(this.flush(), CLOSE_MS);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, this.#options.flushMs ?? FLUSH_MS).unref();
  }

  async #write(): Promise<void> {
    const { store, onError, onLost } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        await store.add(batch);
        this.#waiting = this.#waiting.slice(batch.length);
        this.#isFailing = false;
        this.#sinceTrim += batch.length;
      } catch (error) {
        if (!this.#isFailing) onError(error);
        this.#isFailing = true;
        if (failureOf(error).kind === 'store_unavailable') return;
        // Another try would fail, too.
        this.#waiting = this.#waiting.slice(batch.length);
        onLost('store', batch.length);
      }
    }
    await this.#trim().catch(onError);
  }

  async #trim(): Promise<void> {
    if (this.#sinceTrim < TRIM_AFTER) return;
    this.#sinceTrim = 0;
    const { store, maxRows } = this.#options;
    for (let step = 0; step < MAX_TRIM_STEPS; step += 1) {
      if ((await store.trim(maxRows, TRIM_ROWS)) < TRIM_ROWS) return;
    }
    // There is more to do: after the next write.
    this.#sinceTrim = TRIM_AFTER;
  }
}
