/** Keeps back that a turn does not run any more, until it is sure that it is not run again: then it needs its place. */
export class Settling {
  readonly #onSettled: (() => void) | undefined;
  #isSettled = false;
  #isLast = false;

  constructor(onSettled: (() => void) | undefined) {
    this.#onSettled = onSettled;
  }

  /** The turn does not run upstream any more. */
  readonly settle = (): void => {
    this.#isSettled = true;
    if (this.#isLast) this.#onSettled?.();
  };

  /** It will not be run again. */
  isLast(): void {
    if (this.#isLast) return;
    this.#isLast = true;
    if (this.#isSettled) this.#onSettled?.();
  }
}
