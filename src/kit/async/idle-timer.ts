/** The longest time that a timer can wait. */
const MAX_MS = 2 ** 31 - 1;

/** Calls once when nothing has been heard for so long. */
export class IdleTimer {
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(ms: number, onIdle: () => void) {
    this.#onIdle = onIdle;
    this.allow(ms);
  }

  /** Something was heard: the time begins anew. */
  heard(): void {
    this.#timer?.refresh();
  }

  /** From now on the silence may be this long. */
  allow(ms: number): void {
    if (this.#isOver) return;
    this.hold();
    this.#timer = setTimeout(() => this.#strike(), Math.min(ms, MAX_MS));
  }

  /** Stops the timer until the next `allow`: the other side is not to blame for the silence. */
  hold(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** For good. */
  stop(): void {
    this.#isOver = true;
    this.hold();
  }

  #strike(): void {
    this.#timer = null;
    this.#onIdle();
  }
}
