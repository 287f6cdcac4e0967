/** Passes items on until the signal is aborted, then throws its reason even if items are ready. */
export async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  for await (const item of items) {
    signal.throwIfAborted();
    yield item;
  }
}

/** The promise's value. Throws the signal's reason if it is aborted first. */
export const unlessAborted = async <T>(promise: Promise<T>, signal: AbortSignal): Promise<T> => {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    // The loser of the race may still reject.
    promise.catch(() => {});
    aborted.catch(() => {});
  }
};

/**
 * Aborted with the first of the signals. For signals that end with the work at hand: each keeps a listener as long as it
 * lives. `AbortSignal.any` keeps none, but registers its sources for finalization, which costs more, and keeps them until
 * a full garbage collection.
 */
export const firstAborted = (...signals: readonly AbortSignal[]): AbortSignal => {
  const first = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) {
      first.abort(signal.reason);
      break;
    }
    signal.addEventListener('abort', () => first.abort(signal.reason), { once: true });
  }
  return first.signal;
};

/** Waits so long. Throws the signal's reason if it is aborted first. */
export const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
};

/** The result of the work; null if it is not ready in time. The work continues. */
export const within = async <Value>(work: Promise<Value>, ms: number): Promise<Value | null> => {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};

/** The maximum delay of a timer. */
const MAX_MS = 2 ** 31 - 1;

/** Calls once after this long without activity. */
export class IdleTimer {
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(ms: number, onIdle: () => void) {
    this.#onIdle = onIdle;
    this.allow(ms);
  }

  /** Restarts the timer. */
  heard(): void {
    this.#timer?.refresh();
  }

  /** Sets the timeout from now on. */
  allow(ms: number): void {
    if (this.#isOver) return;
    this.hold();
    this.#timer = setTimeout(() => this.#strike(), Math.min(ms, MAX_MS));
  }

  /** Pauses the timer until the next `allow`: the other side is not expected to send. */
  hold(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Stops the timer permanently. */
  stop(): void {
    this.#isOver = true;
    this.hold();
  }

  #strike(): void {
    this.#timer = null;
    this.#onIdle();
  }
}
