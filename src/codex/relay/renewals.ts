/** A login is renewed every few hours; a start, or two workers at once, may need some more. */
const AT_ONCE = 6;
const ONE_MORE_EVERY_MS = 30_000;

/**
 * How often a login is renewed at the most. codex renews a token that is about to end without a pause:
 * on a machine whose clock is ahead every token looks so, and its service would be asked some hundred
 * times a second.
 */
export class Renewals {
  #left = AT_ONCE;
  #countedAtMs = Number.NEGATIVE_INFINITY;

  /** Whether one more may be sent now; if so it counts. */
  mayRenew(nowMs: number): boolean {
    const more = Math.floor((nowMs - this.#countedAtMs) / ONE_MORE_EVERY_MS);
    if (more > 0) {
      this.#left = Math.min(AT_ONCE, this.#left + more);
      this.#countedAtMs = nowMs;
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}
