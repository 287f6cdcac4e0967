import type { Clock } from '../../kit/ambient.ts';
import {
  isBusyWhileIdle,
  type CpuSample,
  type RetireReason,
  retireReasonOf,
  type RetireLimits,
} from './lifecycle.ts';
import type { Vitals } from './vitals.ts';

export interface RetirementWatchOptions {
  readonly vitals: () => Promise<Vitals>;
  readonly limits: RetireLimits;
  readonly clock: Clock;
  /** Running turns. */
  readonly leases: () => number;
  readonly onRetiring: (wear: RetireReason, vitals: Vitals) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Minimum time between two checks of a busy worker. */
const BUSY_INTERVAL_MS = 1_000;

/** How often to call `idleTick`. */
export const IDLE_INTERVAL_MS = 30_000;

/** Checks one worker now and then. Nothing waits for it: a slow or failed check has no effect. */
export class RetirementWatch {
  readonly #options: RetirementWatchOptions;
  readonly #readyAtMs: number;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #isChecking = false;
  /** The CPU time at the last check while idle; null if it had work since. */
  #idleSince: CpuSample | null = null;

  constructor(options: RetirementWatchOptions) {
    this.#options = options;
    this.#readyAtMs = options.clock.now();
  }

  /** A turn begins: CPU time from here on is its work. */
  leased(): void {
    this.#idleSince = null;
  }

  /** A turn has ended. */
  released(): void {
    if (this.#options.clock.now() - this.#checkedAtMs >= BUSY_INTERVAL_MS) void this.#check();
  }

  async idleTick(): Promise<void> {
    if (this.#options.leases() > 0) return;
    const vitals = await this.#check();
    if (vitals === null || vitals.cpuMs === null || this.#options.leases() > 0) return;
    const before = this.#idleSince;
    const now = { cpuMs: vitals.cpuMs, atMs: this.#options.clock.now() };
    this.#idleSince = now;
    if (before !== null && isBusyWhileIdle(before, now)) this.#options.onRetiring('cpu', vitals);
  }

  async #check(): Promise<Vitals | null> {
    if (this.#isChecking) return null;
    const { clock, limits } = this.#options;
    this.#isChecking = true;
    this.#checkedAtMs = clock.now();
    try {
      const vitals = await this.#options.vitals();
      const state = { ageMs: this.#checkedAtMs - this.#readyAtMs, leases: this.#options.leases() };
      const wear = retireReasonOf(vitals, state, limits);
      if (wear !== null) this.#options.onRetiring(wear, vitals);
      return vitals;
    } catch (error) {
      this.#options.onFailure(error);
      return null;
    } finally {
      this.#isChecking = false;
    }
  }
}
