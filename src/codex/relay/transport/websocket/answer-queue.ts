import type { AnswerBody } from '../model-transport.ts';

export interface AnswerQueueOptions {
  pause(): void;
  resume(): void;
  /** The reader is too slow. */
  onOverflow(error: Error): void;
  /** The reader has stopped before the end. */
  onLeft(): void;
}

/** What may wait for a slow reader. Then the socket is paused, for a while. */
const MAX_QUEUED_BYTES = 8 * 1024 * 1024;
/** A paused socket does not answer pings, and the backend closes one that does not. */
const MAX_PAUSE_MS = 15_000;
/** How much is handed over at once. */
const CHUNK_BYTES = 64 * 1024;

/** The bytes of an answer that have arrived and are not yet read. One reader. */
export class AnswerQueue implements AnswerBody, AsyncIterator<Buffer> {
  readonly #options: AnswerQueueOptions;
  #chunks: Buffer[] = [];
  #end: { readonly error: Error | null } | null = null;
  #waiting: PromiseWithResolvers<IteratorResult<Buffer>> | null = null;
  #pauseTimer: NodeJS.Timeout | null = null;
  bytes = 0;

  constructor(options: AnswerQueueOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    if (this.#end !== null) return;
    this.#chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.#waiting !== null) this.#answer(this.#waiting);
    else if (this.bytes > MAX_QUEUED_BYTES && this.#pauseTimer === null) {
      this.#options.pause();
      this.#pauseTimer = setTimeout(() => this.#overflow(), MAX_PAUSE_MS);
    }
  }

  clear(): void {
    this.#chunks = [];
    this.bytes = 0;
  }

  end(): void {
    this.#finish(null);
  }

  /** The reader gets what has arrived, then the error. */
  fail(error: Error): void {
    this.#finish(error);
  }

  async next(): Promise<IteratorResult<Buffer>> {
    const waiting = Promise.withResolvers<IteratorResult<Buffer>>();
    if (this.#chunks.length > 0 || this.#end !== null) this.#answer(waiting);
    else this.#waiting = waiting;
    return waiting.promise;
  }

  async return(): Promise<IteratorResult<Buffer>> {
    this.destroy();
    return { done: true, value: undefined };
  }

  destroy(): void {
    this.clear();
    if (this.#end === null) this.#options.onLeft();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #answer(waiting: PromiseWithResolvers<IteratorResult<Buffer>>): void {
    this.#waiting = null;
    if (this.#chunks.length > 0) waiting.resolve({ done: false, value: this.#take() });
    else if (this.#end?.error != null) waiting.reject(this.#end.error);
    else waiting.resolve({ done: true, value: undefined });
  }

  #take(): Buffer {
    let count = 0;
    let bytes = 0;
    while (count < this.#chunks.length && (count === 0 || bytes < CHUNK_BYTES)) {
      bytes += this.#chunks[count]?.length ?? 0;
      count += 1;
    }
    const taken = this.#chunks.splice(0, count);
    this.bytes -= bytes;
    if (this.bytes <= MAX_QUEUED_BYTES / 2) this.#resume();
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken);
  }

  #finish(error: Error | null): void {
    if (this.#end !== null) return;
    this.#end = { error };
    this.#resume();
    if (this.#waiting !== null) this.#answer(this.#waiting);
  }

  #resume(): void {
    if (this.#pauseTimer === null) return;
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = null;
    this.#options.resume();
  }

  #overflow(): void {
    this.#options.onOverflow(new QueueOverflowError());
  }
}

/** The reader of an answer is slower than the backend allows. */
class QueueOverflowError extends Error {
  readonly code = 'WS_QUEUE_FULL';
  constructor() {
    super('the answer was not read in time');
  }
}
