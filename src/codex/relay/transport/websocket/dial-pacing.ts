import type { Clock } from '../../../../kit/ambient.ts';

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * 60_000;
/** 426: this backend does not speak WebSocket. */
const UNSUPPORTED_PAUSE_MS = 30 * 60_000;
/** Between two dials that nothing waits for. */
const SPARE_EVERY_MS = 1_000;

/** When the next dial may start: the backend rejects many dials in a row. */
export class DialPacing {
  readonly #clock: Clock;
  #nextPauseMs = FIRST_PAUSE_MS;
  #pausedUntil = 0;
  #hasFailed = false;
  #spareAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the last dial failed. Then requests do not wait for the next one. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** How long a dial that nothing waits for has to be delayed. */
  get spareDelayMs(): number {
    const now = this.#clock.now();
    return Math.max(0, this.#pausedUntil - now, this.#spareAt + SPARE_EVERY_MS - now);
  }

  spareStarted(): void {
    this.#spareAt = this.#clock.now();
  }

  succeeded(): void {
    this.#hasFailed = false;
    this.#pausedUntil = 0;
  }

  /** A socket has served an answer. Until then it may be one that is closed as soon as it is used. */
  served(): void {
    this.#nextPauseMs = FIRST_PAUSE_MS;
  }

  /** `status` is the answer to the upgrade; null: there was none. */
  failed(status: number | null): void {
    const isSame = this.#clock.now() < this.#pausedUntil;
    this.#hasFailed = true;
    // Dials that ran at the same time fail together and count once.
    if (isSame && status !== 426) return;
    const pauseMs = status === 426 ? UNSUPPORTED_PAUSE_MS : this.#nextPauseMs;
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#nextPauseMs = Math.min(this.#nextPauseMs * 2, MAX_PAUSE_MS);
  }
}
