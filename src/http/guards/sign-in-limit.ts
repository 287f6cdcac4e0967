import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Clock } from '../../kit/ambient.ts';

const WINDOW_MS = 60_000;
/** What an address may spend within a minute. A wrong key costs six times as much as a right one. */
const BUDGET = 60;
const WRONG_COST = 6;
const RIGHT_COST = 1;
const MAX_ADDRESSES = 1_000;

/** Limits how often an address may try to sign in. */
export class SignInLimit {
  readonly #clock: Clock;
  /** The oldest window first. */
  readonly #windows = new Map<string, { readonly startedAt: number; spent: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws if the address has tried too often. The cost of a wrong key is taken at once: attempts may run in parallel. */
  enter(address: string): { readonly succeeded: () => void } {
    const window = this.#windowOf(address);
    if (window.spent + WRONG_COST > BUDGET) {
      const waitMs = window.startedAt + WINDOW_MS - this.#clock.now();
      throw gatewayError('sign_in_limit_exceeded', {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      });
    }
    window.spent += WRONG_COST;
    return {
      succeeded: () => {
        window.spent -= WRONG_COST - RIGHT_COST;
      },
    };
  }

  #windowOf(address: string): { readonly startedAt: number; spent: number } {
    const now = this.#clock.now();
    const known = this.#windows.get(address);
    const ageMs = known === undefined ? WINDOW_MS : now - known.startedAt;
    // The clock may have been set back.
    if (known !== undefined && ageMs >= 0 && ageMs < WINDOW_MS) return known;
    const opened = { startedAt: now, spent: 0 };
    this.#windows.delete(address);
    this.#windows.set(address, opened);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > MAX_ADDRESSES && oldest !== undefined) this.#windows.delete(oldest);
    return opened;
  }
}
