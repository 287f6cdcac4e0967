import { firstAborted, IdleTimer } from '../../../kit/async/wait.ts';

/** Idle timeout of a backend: aborts a request if nothing arrives for too long. */
export class IdleTimeout {
  readonly #late = new AbortController();
  readonly #idleTimer: IdleTimer;
  #ms: number;
  /** Aborted when the time is up, or when the caller no longer waits. */
  readonly signal: AbortSignal;

  constructor(ms: number, gone: AbortSignal) {
    this.#ms = ms;
    this.#idleTimer = new IdleTimer(ms, () => this.#late.abort());
    this.signal = firstAborted(gone, this.#late.signal);
  }

  get isAtEnd(): boolean {
    return this.#late.signal.aborted;
  }

  heard(): void {
    this.#idleTimer.heard();
  }

  /** Shortens the timeout from now on. */
  shorten(ms: number): void {
    this.#ms = Math.min(ms, this.#ms);
    this.#idleTimer.allow(this.#ms);
  }

  /** Suspends the timer: while the reader of an answer is slow, the backend cannot send. */
  async without<T>(wait: Promise<T>): Promise<T> {
    this.#idleTimer.hold();
    try {
      return await wait;
    } finally {
      this.#idleTimer.allow(this.#ms);
    }
  }

  stop(): void {
    this.#idleTimer.stop();
  }
}

/** Up to this size the configured limit applies. */
const SMALL_BYTES = 40 * 1024;
const BYTES_PER_SECOND = 10 * 1024;
const MAX_MS = 180_000;

/** How long the first event of an answer may take: longer for a large request. */
export const firstEventLimitMs = (baseMs: number, bodyBytes: number): number => {
  const extraMs = (Math.max(0, bodyBytes - SMALL_BYTES) / BYTES_PER_SECOND) * 1_000;
  return Math.max(baseMs, Math.min(baseMs + extraMs, MAX_MS));
};

/**
 * Aborts a request whose answer has no output in time. A sign of life starts the time again, but not beyond twice
 * the limit: a backend may send keepalives and never answer.
 */
export class FirstEventWatch {
  readonly #late = new AbortController();
  readonly #idleTimer: IdleTimer;
  readonly #lastTimer: NodeJS.Timeout;
  readonly limitMs: number;

  constructor(limitMs: number) {
    this.limitMs = limitMs;
    this.#idleTimer = new IdleTimer(limitMs, () => this.#late.abort());
    this.#lastTimer = setTimeout(() => this.#late.abort(), 2 * limitMs);
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  heard(): void {
    this.#idleTimer.heard();
  }

  stop(): void {
    this.#idleTimer.stop();
    clearTimeout(this.#lastTimer);
  }
}

/** An answer had no output in time, and nothing of it was passed on. */
export class NoFirstEventError extends Error {
  readonly limitMs: number;
  constructor(limitMs: number) {
    super('the answer did not begin in time');
    this.limitMs = limitMs;
  }
}
