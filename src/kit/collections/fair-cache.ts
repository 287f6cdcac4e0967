import type { Clock } from '../ambient.ts';
import { FairBudget } from './fair-budget.ts';

export interface FairCacheOptions {
  /** 0 keeps nothing. */
  readonly maxBytes: number;
  /** From when an entry was added or last renewed. */
  readonly maxAgeMs: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
}

export interface CacheEntry<Value> {
  /** The owner of the entry, for fairness. */
  readonly holder: string;
  /** One value may be found by several keys. */
  readonly keys: readonly string[];
  readonly value: Value;
  readonly bytes: number;
}

/** `key` is the holder. */
type Kept<Value> = CacheEntry<Value> & { readonly key: string; readonly at: number };

/** Limits renewals: a long conversation would renew every entry with every request. */
const RENEWED_AFTER_MS = 60_000;

/** A cache shared by several holders. Above its limit the oldest entry of the largest holder is dropped. */
export class FairCache<Value> {
  readonly #options: FairCacheOptions;
  readonly #byKey = new Map<string, Kept<Value>>();
  /** The oldest first. */
  readonly #kept = new Set<Kept<Value>>();
  readonly #budget: FairBudget<Kept<Value>>;

  constructor(options: FairCacheOptions) {
    this.#options = options;
    this.#budget = new FairBudget({ capacity: options.maxBytes, first: ([oldest]) => oldest });
  }

  get bytes(): number {
    return this.#budget.total;
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  get(key: string): CacheEntry<Value> | undefined {
    const kept = this.#byKey.get(key);
    return kept === undefined || this.#isExpired(kept) ? undefined : kept;
  }

  /** Replaces the entry of a key in use. An entry larger than the whole cache is not kept. */
  add(entry: CacheEntry<Value>): void {
    for (const key of entry.keys) this.drop(key);
    this.#dropExpired();
    if (entry.bytes <= this.#options.maxBytes) {
      const kept = { ...entry, key: entry.holder, at: this.#options.clock.now() };
      this.#insert(kept);
      for (const one of this.#budget.yieldingTo(kept, 0) ?? [kept]) this.#remove(one);
    }
    this.#options.onChange(this.bytes);
  }

  /** Treats the entry of this key as just added. */
  renew(key: string): void {
    const kept = this.#byKey.get(key);
    const now = this.#options.clock.now();
    if (kept === undefined || now - kept.at < RENEWED_AFTER_MS) return;
    this.#remove(kept);
    this.#insert({ ...kept, at: now });
  }

  /** Removes the entry of this key, with all its keys. */
  drop(key: string): void {
    const kept = this.#byKey.get(key);
    if (kept !== undefined) this.#remove(kept);
  }

  /** Drops expired entries, and reports the size. */
  settle(): void {
    this.#dropExpired();
    this.#options.onChange(this.bytes);
  }

  #dropExpired(): void {
    for (const kept of this.#kept) {
      if (!this.#isExpired(kept)) break;
      this.#remove(kept);
    }
  }

  #isExpired({ at }: Kept<Value>): boolean {
    return this.#options.clock.now() - at >= this.#options.maxAgeMs;
  }

  #insert(kept: Kept<Value>): void {
    this.#kept.add(kept);
    this.#budget.hold(kept, kept.bytes);
    for (const key of kept.keys) this.#byKey.set(key, kept);
  }

  #remove(kept: Kept<Value>): void {
    if (!this.#kept.delete(kept)) return;
    this.#budget.release(kept);
    for (const key of kept.keys) if (this.#byKey.get(key) === kept) this.#byKey.delete(key);
  }
}

/** The memory of a string: one byte per character, or two if any character needs two. */
export const bytesOfText = (text: string): number =>
  // eslint-disable-next-line no-control-regex -- every character that fits into a byte
  /[^\u0000-\u00FF]/.test(text) ? 2 * text.length : text.length;
