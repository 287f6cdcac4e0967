import { failure, type Failure } from '../../canonical/failure.ts';

/** codex renews an expired token once per thread, one after the other: so many turns at once are served. */
const AT_ONCE = 100;
const ONE_MORE_EVERY_MS = 30_000;
/** A turn that fails later than this after a renewal has a reason of its own. */
const COUNTS_FOR_MS = 60_000;

/**
 * The renewals of a login: how the last one went, and how many there are at the most. codex renews a
 * token that is about to end without a pause: on a machine whose clock is ahead every token looks so,
 * and its service would be asked some hundred times a second.
 */
export class Renewals {
  readonly #now: () => number;
  #left = AT_ONCE;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  #wentWell = false;
  #last: { readonly failed: Failure; readonly at: number } | null = null;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Why the login could not be renewed of late, where that is not the login's own fault. */
  get trouble(): Failure | null {
    return this.#last !== null && this.#now() - this.#last.at < COUNTS_FOR_MS ? this.#last.failed : null;
  }

  /** Whether one more may be sent now; if so it counts. */
  mayRenew(): boolean {
    const more = Math.floor((this.#now() - this.#countedAtMs) / ONE_MORE_EVERY_MS);
    if (more > 0) {
      this.#left = Math.min(AT_ONCE, this.#left + more);
      this.#countedAtMs = this.#now();
    }
    if (this.#left > 0) {
      this.#left -= 1;
      return true;
    }
    // New tokens came, and did not help: a turn that fails now fails for want of a login.
    if (this.#wentWell) this.note(failure('upstream_unauthorized'));
    return false;
  }

  /** Null: nothing stood in its way. */
  note(failed: Failure | null): void {
    this.#last = failed === null ? null : { failed, at: this.#now() };
  }

  answered(status: number): void {
    this.#wentWell = status < 400;
  }
}
