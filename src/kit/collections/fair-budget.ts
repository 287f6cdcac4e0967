import type { Clock } from '../ambient.ts';

export interface FairBudgetOptions<Holder> {
  readonly capacity: number;
  /** For administrators: others never get the last place. */
  readonly isAdmin?: (key: string) => boolean;
  /** The size of a place; absent: 1. */
  readonly place?: number;
  /**
   * Which holder of a key gives way to another: one of these, in their order of arrival. `asking` is among them if it
   * belongs to the same key. Undefined: none of them can.
   */
  readonly first?: (own: readonly Holder[], asking: Holder) => Holder | undefined;
}

interface KeyShare<Holder> {
  held: number;
  /** In order of arrival. */
  readonly holders: Map<Holder, number>;
}

/**
 * A limit that keys share: of bytes or of places. A key may have everything while it is alone. If there is not enough for
 * all, each has a right to an equal share, and the key furthest above it gives way first.
 */
export class FairBudget<Holder extends { readonly key: string }> {
  readonly #options: FairBudgetOptions<Holder>;
  /** Of the keys that hold something. */
  readonly #shares = new Map<string, KeyShare<Holder>>();
  #total = 0;

  constructor(options: FairBudgetOptions<Holder>) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  /** How many keys hold something. */
  get keys(): number {
    return this.#shares.size;
  }

  heldBy(key: string): number {
    return this.#shares.get(key)?.held ?? 0;
  }

  sizeOf(holder: Holder): number {
    return this.#shares.get(holder.key)?.holders.get(holder) ?? 0;
  }

  /** Also beyond the capacity: whether it fits is for the caller to ask. */
  hold(holder: Holder, more: number): void {
    const { key } = holder;
    let own = this.#shares.get(key);
    if (own === undefined) this.#shares.set(key, (own = { held: 0, holders: new Map() }));
    own.holders.set(holder, (own.holders.get(holder) ?? 0) + more);
    own.held += more;
    this.#total += more;
  }

  /** Gives back a part, or everything. A holder that has nothing any more is forgotten. */
  release(holder: Holder, part = Infinity): void {
    const { key } = holder;
    const own = this.#shares.get(key);
    const size = own?.holders.get(holder);
    if (own === undefined || size === undefined) return;
    if (part < size) own.holders.set(holder, size - part);
    else own.holders.delete(holder);
    const less = Math.min(part, size);
    own.held -= less;
    this.#total -= less;
    if (own.holders.size === 0) this.#shares.delete(key);
  }

  /** The most that this key can have. */
  capacityFor(key: string): number {
    const { capacity, isAdmin, place = 1 } = this.#options;
    return isAdmin === undefined || isAdmin(key) || capacity <= place ? capacity : capacity - place;
  }

  fits(key: string, more: number): boolean {
    return this.#total + more <= this.capacityFor(key);
  }

  /** Whether the key has at most its equal share, with this. One that has nothing has a right to something. */
  isWithinShare(key: string, more: number): boolean {
    const own = this.heldBy(key);
    const keys = this.#shares.size + (own === 0 ? 1 : 0);
    return own === 0 || own + more <= this.capacityFor(key) / keys;
  }

  /** Who has to give way so that this one can have more; null: it has no right to that. */
  yieldingTo(asking: Holder, more: number): readonly Holder[] | null {
    const { capacity, first } = this.#options;
    // Of two keys with the same, the one that asks gives way.
    const held = new Map([[asking.key, 0]]);
    for (const [key, share] of this.#shares) held.set(key, share.held);
    held.set(asking.key, this.heldBy(asking.key) + more);
    const share = capacity / held.size;
    const yielding = new Set<Holder>();
    let missing = this.#total + more - this.capacityFor(asking.key);
    while (missing > 0) {
      const next = [...held]
        .filter(([, size]) => size > share)
        .toSorted(([, one], [, other]) => other - one)
        .map(([key]) => first?.(this.#others(key, yielding, asking), asking))
        .find((holder) => holder !== undefined);
      if (next === undefined || next === asking) return null;
      yielding.add(next);
      const size = this.sizeOf(next);
      missing -= size;
      held.set(next.key, (held.get(next.key) ?? 0) - size);
    }
    return [...yielding];
  }

  #others(key: string, yielding: ReadonlySet<Holder>, asking: Holder): readonly Holder[] {
    const own = [...(this.#shares.get(key)?.holders.keys() ?? [])].filter((holder) => !yielding.has(holder));
    return key === asking.key && !own.includes(asking) ? [...own, asking] : own;
  }
}

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
type KeptEntry<Value> = CacheEntry<Value> & { readonly key: string; readonly at: number };

/** Limits renewals: a long conversation would renew every entry with every request. */
const RENEWED_AFTER_MS = 60_000;

/** A cache shared by several holders. Above its limit the oldest entry of the largest holder is dropped. */
export class FairCache<Value> {
  readonly #options: FairCacheOptions;
  readonly #byKey = new Map<string, KeptEntry<Value>>();
  /** The oldest first. */
  readonly #kept = new Set<KeptEntry<Value>>();
  readonly #budget: FairBudget<KeptEntry<Value>>;

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

  #isExpired({ at }: KeptEntry<Value>): boolean {
    return this.#options.clock.now() - at >= this.#options.maxAgeMs;
  }

  #insert(kept: KeptEntry<Value>): void {
    this.#kept.add(kept);
    this.#budget.hold(kept, kept.bytes);
    for (const key of kept.keys) this.#byKey.set(key, kept);
  }

  #remove(kept: KeptEntry<Value>): void {
    if (!this.#kept.delete(kept)) return;
    this.#budget.release(kept);
    for (const key of kept.keys) if (this.#byKey.get(key) === kept) this.#byKey.delete(key);
  }
}

/** The memory of a string: one byte per character, or two if any character needs two. */
export const bytesOfText = (text: string): number =>
  // eslint-disable-next-line no-control-regex -- every character that fits into a byte
  /[^\u0000-\u00FF]/.test(text) ? 2 * text.length : text.length;
