import type { Clock } from '../ambient.ts';

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

interface OrderedKeys<Key> {
  readonly size: number;
  keys(): Iterator<Key>;
  delete(key: Key): boolean;
}

/** Limits a map or set to `max` entries; both keep insertion order. */
export const forgetOldest = <Key>(kept: OrderedKeys<Key>, max: number): void => {
  if (kept.size <= max) return;
  const oldest = kept.keys().next();
  if (oldest.done !== true) kept.delete(oldest.value);
};

interface KeepAnswerOptions<T> {
  readonly clock: Clock;
  /** How long an answer is kept. */
  readonly keepMs: (answer: T) => number;
  /** How long a failure is kept before a retry. */
  readonly keepFailureMs: number;
}

/** Shares one pending call between all callers and keeps its result for a while. */
export const keepAnswer = <T>(
  ask: () => Promise<T>,
  { clock, keepMs, keepFailureMs }: KeepAnswerOptions<T>,
): (() => Promise<T>) => {
  let known: { readonly heard: Promise<T>; readonly until: number } | null = null;
  let asking: Promise<T> | null = null;
  const askNow = async (): Promise<T> => {
    const heard = ask();
    try {
      const answer = await heard;
      known = { heard, until: clock.now() + keepMs(answer) };
      return answer;
    } catch (error) {
      known = { heard, until: clock.now() + keepFailureMs };
      throw error;
    } finally {
      asking = null;
    }
  };
  return async () => {
    if (known !== null && clock.now() < known.until) return known.heard;
    known = null;
    asking ??= askNow();
    return asking;
  };
};
