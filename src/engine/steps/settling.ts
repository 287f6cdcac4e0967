/** Delays `onSettled` until it is certain that the turn is not run again, because a further run needs its slot. */
export class Settling {
  readonly #onSettled: (() => void) | undefined;
  #isSettled = false;
  #isLast = false;

  constructor(onSettled: (() => void) | undefined) {
    this.#onSettled = onSettled;
  }

  /** The turn no longer runs upstream. */
  readonly settle = (): void => {
    this.#isSettled = true;
    if (this.#isLast) this.#onSettled?.();
  };

  /** The turn will not be run again. */
  markLast(): void {
    if (this.#isLast) return;
    this.#isLast = true;
    if (this.#isSettled) this.#onSettled?.();
  }
}
