import type { Clock } from '../../../../kit/ambient.ts';

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * 60_000;
/** 426: this backend does not speak WebSocket. */
const UNSUPPORTED_PAUSE_MS = 30 * 60_000;
/** Between two dials that nothing waits for; longer while the backend closes the sockets unused. */
const SPARE_EVERY_MS = 1_000;

/** When the next dial may start: the backend rejects many dials in a row. */
export class DialPacing {
  readonly #clock: Clock;
  #nextPauseMs = FIRST_PAUSE_MS;
  #pausedUntil = 0;
  #failure: { readonly status: number | null } | null = null;
  #spareAt = -Infinity;
  #spareEveryMs = SPARE_EVERY_MS;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the last dial failed. Then requests do not wait for the next one. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** How long a dial that nothing waits for has to be delayed. */
  get spareDelayMs(): number {
    const now = this.#clock.now();
    return Math.max(0, this.#pausedUntil - now, this.#spareAt + this.#spareEveryMs - now);
  }

  spareStarted(): void {
    this.#spareAt = this.#clock.now();
  }

  /** The backend closed a new socket before a request used it. Only the next spare has to wait. */
  spareLost(): void {
    this.#spareEveryMs = Math.min(this.#spareEveryMs * 2, MAX_PAUSE_MS);
  }

  succeeded(): void {
    this.#failure = null;
    this.#pausedUntil = 0;
  }

  /** Another login: a 401 was about the old one, and other failures are not about a login. */
  loginChanged(): void {
    if (this.#failure?.status === 401) this.succeeded();
  }

  /** A socket has served an answer. Until then it may be one that is closed as soon as it is used. */
  served(): void {
    this.#nextPauseMs = FIRST_PAUSE_MS;
    this.#spareEveryMs = SPARE_EVERY_MS;
  }

  /** `status` is the answer to the upgrade; null: there was none. */
  failed(status: number | null): void {
    const isSame = this.#clock.now() < this.#pausedUntil;
    this.#failure = { status };
    // Dials that ran at the same time fail together and count once.
    if (isSame && status !== 426) return;
    const pauseMs = status === 426 ? UNSUPPORTED_PAUSE_MS : this.#nextPauseMs;
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + pauseMs);
    this.#nextPauseMs = Math.min(this.#nextPauseMs * 2, MAX_PAUSE_MS);
  }
}
