import type { Clock } from '../ambient.ts';
import { forgetOldest } from './forget-oldest.ts';

/**
 * What is worth knowing for a while: at most `max` entries, each for `maxAgeMs` after it was set. The
 * oldest goes first. Keys often come from clients, so nothing may be kept without an end.
 */
export class Recent<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly at: number }>();
  readonly #max: number;
  readonly #maxAgeMs: number;
  readonly #clock: Clock;

  constructor(max: number, maxAgeMs: number, clock: Clock) {
    this.#max = max;
    this.#maxAgeMs = maxAgeMs;
    this.#clock = clock;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#clock.now() - entry.at < this.#maxAgeMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: Value): void {
    // Maps keep the order in which keys came: a key that is set again is the newest.
    this.#entries.delete(key);
    this.#entries.set(key, { value, at: this.#clock.now() });
    forgetOldest(this.#entries, this.#max);
  }
}
