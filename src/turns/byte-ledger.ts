/** A request body's share of the budget. */
export interface LedgerEntry {
  readonly caller: string;
  /** Bytes announced by the client, once the body may be read. */
  announced: number;
  /** Bytes in memory. */
  held: number;
  /** The turn runs and keeps its bytes. Other bodies can be dropped, and sent again. */
  isFixed: boolean;
}

/**
 * Accounts for bytes by caller. Announced bytes only delay other bodies of the same key. Bytes in memory are limited in
 * total: when they run short, the key furthest above an equal share loses its newest body.
 */
export class ByteLedger<Entry extends LedgerEntry> {
  readonly #capacity: number;
  /** In order of arrival. */
  readonly #entries = new Set<Entry>();
  #held = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get held(): number {
    return this.#held;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  remove(entry: Entry): void {
    if (this.#entries.delete(entry)) this.#held -= entry.held;
  }

  hold(entry: Entry, more: number): void {
    entry.held += more;
    this.#held += more;
  }

  fits(more: number): boolean {
    return this.#held + more <= this.#capacity;
  }

  /** Total expected size of a caller's bodies. */
  expectedOf(caller: string): number {
    return sum([...this.#entries].filter((entry) => entry.caller === caller).map(expected));
  }

  /**
   * Whether a body of this size may be read now: all announced bytes fit, or its key is below its share. In the second
   * case others may have to be dropped, so the fixed ones must leave it room.
   */
  mayStart(caller: string, bytes: number): boolean {
    const entries = [...this.#entries];
    if (sum(entries.map(expected)) + bytes <= this.#capacity) return true;
    const fixed = sum(entries.filter(({ isFixed }) => isFixed).map(({ held }) => held));
    if (fixed + bytes > this.#capacity) return false;
    const callers = new Set(entries.filter((entry) => expected(entry) > 0).map((entry) => entry.caller));
    const own = this.expectedOf(caller);
    return own === 0 || own + bytes <= this.#capacity / callers.add(caller).size;
  }

  /** The bodies to drop so that this one can grow; null: this one must be dropped. */
  yieldingTo(growing: Entry, more: number): readonly Entry[] | null {
    const heldBy = new Map([[growing.caller, more]]);
    for (const { caller, held } of this.#entries) heldBy.set(caller, (heldBy.get(caller) ?? 0) + held);
    const share = this.#capacity / [...heldBy.values()].filter((held) => held > 0).length;
    const newestFirst = [...this.#entries]
      .filter((entry) => !entry.isFixed && (entry.held > 0 || entry === growing))
      .toReversed();
    const yielding: Entry[] = [];
    let missing = this.#held + more - this.#capacity;
    while (missing > 0) {
      const above = [...heldBy].filter(([, held]) => held > share).toSorted(([, a], [, b]) => b - a);
      const next = above
        .map(([caller]) => newestFirst.find((one) => one.caller === caller && !yielding.includes(one)))
        .find((entry) => entry !== undefined);
      if (next === undefined || next === growing) return null;
      yielding.push(next);
      missing -= next.held;
      heldBy.set(next.caller, (heldBy.get(next.caller) ?? 0) - next.held);
    }
    return yielding;
  }
}

const expected = ({ announced, held }: LedgerEntry): number => Math.max(announced, held);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
