import type { Clock } from '../ambient.ts';

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

type Kept<Value> = CacheEntry<Value> & { readonly at: number };

/** Limits renewals: a long conversation would renew every entry with every request. */
const RENEWED_AFTER_MS = 60_000;

/** A cache shared by several holders. Above its limit the oldest entry of the largest holder is dropped. */
export class FairCache<Value> {
  readonly #options: FairCacheOptions;
  readonly #byKey = new Map<string, Kept<Value>>();
  /** The entries of each holder, the oldest first. */
  readonly #byHolder = new Map<string, { readonly kept: Set<Kept<Value>>; bytes: number }>();
  #bytes = 0;

  constructor(options: FairCacheOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
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
    if (entry.bytes <= this.#options.maxBytes) this.#insert({ ...entry, at: this.#options.clock.now() });
    this.settle();
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

  /** Drops expired entries, then the oldest of the largest holder until the rest fits. */
  settle(): void {
    for (const { kept } of this.#byHolder.values()) {
      for (const one of kept) {
        if (!this.#isExpired(one)) break;
        this.#remove(one);
      }
    }
    while (this.#bytes > this.#options.maxBytes) {
      const largest = [...this.#byHolder.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      const [oldest] = largest.kept;
      if (oldest === undefined) break;
      this.#remove(oldest);
    }
    this.#options.onChange(this.#bytes);
  }

  #isExpired({ at }: Kept<Value>): boolean {
    return this.#options.clock.now() - at >= this.#options.maxAgeMs;
  }

  #insert(kept: Kept<Value>): void {
    const own = this.#byHolder.get(kept.holder) ?? { kept: new Set<Kept<Value>>(), bytes: 0 };
    this.#byHolder.set(kept.holder, own);
    own.kept.add(kept);
    own.bytes += kept.bytes;
    this.#bytes += kept.bytes;
    for (const key of kept.keys) this.#byKey.set(key, kept);
  }

  #remove(kept: Kept<Value>): void {
    const own = this.#byHolder.get(kept.holder);
    if (own?.kept.delete(kept) !== true) return;
    own.bytes -= kept.bytes;
    this.#bytes -= kept.bytes;
    if (own.kept.size === 0) this.#byHolder.delete(kept.holder);
    for (const key of kept.keys) if (this.#byKey.get(key) === kept) this.#byKey.delete(key);
  }
}

/** The memory of a string: one byte per character, or two if any character needs two. */
export const bytesOfText = (text: string): number =>
  // eslint-disable-next-line no-control-regex -- every character that fits into a byte
  /[^\u0000-\u00FF]/.test(text) ? 2 * text.length : text.length;
