import { failureOf } from '../../canonical/failure/failure.ts';
import { WriteQueue } from '../../kit/async/write-queue.ts';
import type { RequestRow, RequestStore } from './store.ts';

export interface LogWriterOptions {
  readonly store: RequestStore;
  /** How many rows the log has, on all servers together. */
  readonly maxRows: number;
  readonly onLost: (reason: 'full' | 'store' | 'stop', rows: number) => void;
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
/** Few, because other requests wait for the database meanwhile. */
const TRIM_ROWS = 100;
const MAX_TRIM_STEPS = 100;
const CLOSE_MS = 2_000;

/** Writes requests to the store in batches, so that no request waits for it. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #queue: WriteQueue<RequestRow>;
  #sinceTrim = TRIM_AFTER;
  #trimming: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: LogWriterOptions) {
    const { onLost, onError, flushMs = FLUSH_MS } = options;
    this.#options = options;
    this.#queue = new WriteQueue({
      write: (rows) => this.#write(rows),
      delayMs: flushMs,
      perWrite: MAX_BATCH,
      max: MAX_WAITING,
      // Another try of anything else would fail, too.
      retries: (error) => failureOf(error).kind === 'store_unavailable',
      onError,
      onLost: (rows) => onLost('store', rows.length),
    });
  }

  add(row: RequestRow): void {
    if (!this.#queue.put(row.id, row)) this.#options.onLost('full', 1);
  }

  /** Writes what waits. Does not reject: what could not be written is tried again later. */
  async flush(): Promise<void> {
    await this.#queue.flush().catch(() => undefined);
  }

  async close(): Promise<void> {
    const left = await this.#queue.close(CLOSE_MS);
    this.#isClosed = true;
    await this.#trimming;
    if (left.length > 0) this.#options.onLost('stop', left.length);
  }

  async #write(rows: readonly RequestRow[]): Promise<void> {
    const { store, onError } = this.#options;
    await store.add(rows);
    this.#sinceTrim += rows.length;
    // Who reads the log waits for its rows, and not for this.
    this.#trimming ??= this.#trim()
      .catch(onError)
      .finally(() => {
        this.#trimming = null;
      });
  }

  async #trim(): Promise<void> {
    if (this.#sinceTrim < TRIM_AFTER) return;
    this.#sinceTrim = 0;
    const { store, maxRows } = this.#options;
    for (let step = 0; step < MAX_TRIM_STEPS && !this.#isClosed; step += 1) {
      if ((await store.trim(maxRows, TRIM_ROWS)) < TRIM_ROWS) return;
    }
    // There is more to do: after the next write.
    this.#sinceTrim = TRIM_AFTER;
  }
}
