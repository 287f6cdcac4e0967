import type { Clock } from '../ambient.ts';
import { forgetOldest } from './forget-oldest.ts';

/** A map with at most `max` entries, each kept for `maxAgeMs` after it was set. The oldest is dropped first. */
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
    // Delete first, so that the key moves to the end.
    this.#entries.delete(key);
    this.#entries.set(key, { value, at: this.#clock.now() });
    forgetOldest(this.#entries, this.#max);
  }
}
