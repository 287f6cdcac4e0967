import type { Clock } from '../kit/ambient.ts';

/** Duration of a bypass. */
export const BYPASS_MS = 15 * 60_000;
/** Consecutive block pages that open the bypass. */
const PAGES = 3;

/**
 * Some networks answer programs that they take for bots with a block page, but accept codex. After repeated pages, the
 * app-server connects to its backend directly for a while.
 */
export class RelayBypass {
  readonly #clock: Clock;
  #pages = 0;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOpen(): boolean {
    return this.#clock.now() < this.#until;
  }

  /** Returns true if this page opens the bypass. */
  blocked(): boolean {
    this.#pages += 1;
    if (this.#pages < PAGES || this.isOpen()) return false;
    this.#pages = 0;
    this.#until = this.#clock.now() + BYPASS_MS;
    return true;
  }

  served(): void {
    this.#pages = 0;
  }
}
