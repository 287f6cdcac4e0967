import type { Clock } from '../kit/ambient.ts';

/** How long the way around the relay is taken. */
export const BYPASS_MS = 15 * 60_000;
/** So many block pages in a row, with no answer between them, are not a temporary problem. */
const PAGES = 3;

/**
 * Some networks show a page to programs that they take for robots. They know codex and may not know
 * us: when such pages come again and again, the app-server goes to its backend by itself for a while.
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

  /** True: from now on the way around is taken. */
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
