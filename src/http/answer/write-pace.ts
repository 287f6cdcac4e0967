/**
 * Output is written at once, unless several writes in a row came closer than this: then writes are this far apart. With
 * thousands of deltas a second, one write for each would cost as much as everything else.
 */
const WRITE_GAP_MS = 2;
const CLOSE_WRITES = 4;

/** Decides when the output of a connection is written, so that what is ready together goes out together. */
export class WritePace {
  #flushedAtMs = 0;
  #closeWrites = 0;

  /** Calls `flush` soon. Returns a function that cancels the call. */
  soon(flush: () => void): () => void {
    const restMs = WRITE_GAP_MS - (performance.now() - this.#flushedAtMs);
    this.#closeWrites = restMs > 0 ? this.#closeWrites + 1 : 0;
    if (this.#closeWrites > CLOSE_WRITES) {
      const timer = setTimeout(flush, restMs);
      return () => clearTimeout(timer);
    }
    const immediate = setImmediate(flush);
    return () => clearImmediate(immediate);
  }

  /** Something was written. */
  flushed(): void {
    this.#flushedAtMs = performance.now();
  }
}
