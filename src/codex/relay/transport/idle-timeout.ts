import { IdleTimer } from '../../../kit/async/idle-timer.ts';

/** How long a backend is waited for. When it is silent for too long, what is asked of it is broken off. */
export class IdleTimeout {
  readonly #late = new AbortController();
  readonly #idleTimer: IdleTimer;
  #ms: number;
  /** Aborted when the patience is at its end, or when nobody waits any more. */
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

  /** From now on it is waited for no longer than this. */
  shorten(ms: number): void {
    this.#ms = Math.min(ms, this.#ms);
    this.#idleTimer.allow(this.#ms);
  }

  /** While the reader of an answer takes its time, the backend's silence is not its own. */
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
