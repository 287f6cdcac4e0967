import { Silence } from '../../../kit/async/idle-timer.ts';

/** How long a backend is waited for. When it is silent for too long, what is asked of it is broken off. */
export class Patience {
  readonly #late = new AbortController();
  readonly #silence: Silence;
  #ms: number;
  /** Aborted when the patience is at its end, or when nobody waits any more. */
  readonly signal: AbortSignal;

  constructor(ms: number, gone: AbortSignal) {
    this.#ms = ms;
    this.#silence = new Silence(ms, () => this.#late.abort());
    this.signal = AbortSignal.any([gone, this.#late.signal]);
  }

  get isAtEnd(): boolean {
    return this.#late.signal.aborted;
  }

  heard(): void {
    this.#silence.heard();
  }

  /** From now on it is waited for no longer than this. */
  shorten(ms: number): void {
    this.#ms = Math.min(ms, this.#ms);
    this.#silence.allow(this.#ms);
  }

  /** While the reader of an answer takes its time, the backend's silence is not its own. */
  async without<T>(wait: Promise<T>): Promise<T> {
    this.#silence.hold();
    try {
      return await wait;
    } finally {
      this.#silence.allow(this.#ms);
    }
  }

  stop(): void {
    this.#silence.stop();
  }
}
