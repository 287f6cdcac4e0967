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
