/** What one request body takes of the budget. */
export interface LedgerEntry {
  readonly caller: string;
  /** As many bytes as its client has promised, once it may be read. */
  announced: number;
  /** As many as are in memory. */
  held: number;
  /** Its turn runs: it keeps what it holds. Others can give it up, and be sent again. */
  isFixed: boolean;
}

/**
 * Who holds how much of a number of bytes. What a client announces only delays others of the same key; what is in memory
 * is limited for all, and where it is short, the key furthest above an equal share gives up its newest body.
 */
export class ByteLedger<Entry extends LedgerEntry> {
  readonly #capacity: number;
  /** In the order in which they came. */
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

  /** What all bodies of a caller may come to, as far as is known. */
  expectedOf(caller: string): number {
    return sum([...this.#entries].filter((entry) => entry.caller === caller).map(expected));
  }

  /**
   * Whether a body of so many bytes may be read now: because all that is announced fits, or because its key has less than
   * its share. Then others may have to give up theirs, so those that cannot must leave it room.
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

  /** Which bodies have to go so that this one can hold more; null: it has to go itself. */
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
