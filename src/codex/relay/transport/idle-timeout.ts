import { IdleTimer } from '../../../kit/async/wait.ts';

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
    this.signal = AbortSignal.any([gone, this.#late.signal]);
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
