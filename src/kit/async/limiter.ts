import type { Clock } from '../ambient.ts';
import { FairBudget } from '../collections/fair-budget.ts';

/** A fair queue. Keys take turns; within a key, the order is first in, first out. */
export class FairLine<T> {
  /** In order of turns: a served key moves to the end. Empty keys are removed. */
  readonly #keys = new Map<string, T[]>();

  join(key: string, one: T): void {
    const own = this.#keys.get(key);
    if (own === undefined) this.#keys.set(key, [one]);
    else own.push(one);
  }

  /** The first entry of each key, in order of turns. */
  *heads(): Generator<T> {
    for (const [head] of this.#keys.values()) if (head !== undefined) yield head;
  }

  newestOf(key: string): T | undefined {
    return this.#keys.get(key)?.at(-1);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  lengthOf(key: string): number {
    return this.#keys.get(key)?.length ?? 0;
  }

  /** The key with the most entries. */
  longest(): string | undefined {
    return [...this.#keys.keys()].toSorted((one, other) => this.lengthOf(other) - this.lengthOf(one))[0];
  }

  /** Removes an entry that was not served; its key keeps its turn. Returns false if it was not queued. */
  leave(key: string, one: T): boolean {
    const own = this.#keys.get(key);
    const at = own?.indexOf(one) ?? -1;
    if (own === undefined || at === -1) return false;
    own.splice(at, 1);
    if (own.length === 0) this.#keys.delete(key);
    return true;
  }

  /** Removes a served entry, and ends the turn of its key. */
  serve(key: string, one: T): void {
    this.leave(key, one);
    const rest = this.#keys.get(key);
    if (rest === undefined) return;
    this.#keys.delete(key);
    this.#keys.set(key, rest);
  }
}

interface SlotWaiter {
  readonly key: string;
  readonly enter: () => void;
}

/** Limits concurrency. Waiting keys take turns; within a key, the order is first in, first out. */
export class Slots {
  #free: number;
  #waiting = 0;
  readonly #line = new FairLine<SlotWaiter>();

  constructor(count: number) {
    this.#free = count;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** An entry that is aborted while it waits leaves the queue. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal, key = ''): Promise<T> {
    await this.#enter(signal, key);
    try {
      return await work();
    } finally {
      this.#free += 1;
      this.#letIn();
    }
  }

  async #enter(signal: AbortSignal, key: string): Promise<void> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<void>();
    const waiter: SlotWaiter = { key, enter: turn.resolve };
    const leave = (): void => {
      this.#line.leave(key, waiter);
      turn.reject(signal.reason);
    };
    this.#line.join(key, waiter);
    this.#waiting += 1;
    signal.addEventListener('abort', leave, { once: true });
    this.#letIn();
    try {
      await turn.promise;
    } finally {
      this.#waiting -= 1;
      signal.removeEventListener('abort', leave);
    }
  }

  #letIn(): void {
    while (this.#free > 0) {
      const [next] = this.#line.heads();
      if (next === undefined) return;
      this.#free -= 1;
      this.#line.serve(next.key, next);
      next.enter();
    }
  }
}

/**
 * Why an entry was rejected: its key has more than its fair share while the queue is full, the queue is
 * full, or the wait took too long.
 */
export type LimiterRefusal = 'share' | 'full' | 'late';

export interface GateState {
  readonly inside: number;
  readonly waiting: number;
}

/** `low`: an entry without a client that waits for it. */
export type Rank = 'normal' | 'low';

export interface LimiterOptions {
  /** The total size of running entries. All sizes have the same unit. */
  readonly capacity: number;
  /** For administrators: others never get the last place. */
  readonly isAdmin?: (key: string) => boolean;
  /** The size of a place; absent: 1. */
  readonly place?: number;
  /** The total size of waiting entries. */
  readonly maxWaiting: number;
  readonly waitMs: number;
  /** Rejects an entry at once that does not fit, unless its key has less than its share, which others then leave to it. */
  readonly onlyShareWaits?: true;
  /** For entries of low rank, whose caller limits how many wait; absent: there are none. */
  readonly low?: { readonly capacity: number; readonly waitMs: number };
  readonly clock: Clock;
  readonly refuse: (why: LimiterRefusal, retryAfterSeconds: number) => Error;
  readonly onChange: (state: GateState) => void;
  /** An entry that had to wait was admitted. */
  readonly onWaited?: (ms: number) => void;
}

/** The size held by an admitted entry. */
export interface Permit {
  /** Releases a part, or everything. A part can be released only once. */
  leave(size?: number): void;
}

interface EntryOptions {
  readonly rank?: Rank;
  /** How an admitted entry makes room for another key; absent: it never does. */
  readonly yielding?: {
    /** The entry of its key with the smallest number goes first; null: only if there is no other. */
    readonly rank: () => number | null;
    /** Called once. True: it has left; false: it leaves soon. */
    readonly giveWay: () => boolean;
  };
}

interface Waiter extends EntryOptions {
  isInside: boolean;
  readonly key: string;
  readonly size: number;
  readonly rank: Rank;
  readonly since: number;
  readonly enter: () => void;
  readonly dismiss: (error: unknown) => void;
}

/** After so many others, an entry of low rank comes first: it waits longer than others, but not forever. */
const BEFORE_LOW = 4;

/** The one that leaves before others of its key. A newcomer never takes the place of another entry of its own key. */
const firstToLeave = (own: readonly Waiter[], asking: Waiter): Waiter | undefined => {
  if (own.includes(asking)) return asking;
  const rankOf = ({ yielding }: Waiter): number => yielding?.rank() ?? Infinity;
  return own
    .filter(({ yielding, isInside }) => isInside && yielding !== undefined)
    .reduce<Waiter | undefined>(
      (first, one) => (first === undefined || rankOf(one) < rankOf(first) ? one : first),
      undefined,
    );
};

/**
 * Admits entries that fit, and queues the rest for a limited time, fairly between keys: the key with the least inside
 * comes first. When the queue is full, the key furthest above an equal share of all running and waiting entries loses its
 * newest waiting entry. Entries of low rank wait in a queue of their own, and leave most of the room to others.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #lines = { normal: new FairLine<Waiter>(), low: new FairLine<Waiter>() };
  readonly #inside: FairBudget<Waiter>;
  /** Running and waiting; of low rank only the running ones. Without those that were asked to give way. */
  readonly #asked: FairBudget<Waiter>;
  #insideLow = 0;
  #waiting = 0;
  /** How many others were admitted while an entry of low rank waited. */
  #beforeLow = 0;
  /** The wait of the entry admitted last. */
  #lastWaitMs = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#inside = new FairBudget(options);
    this.#asked = new FairBudget({ ...options, first: firstToLeave });
  }

  /** How much more can be admitted. */
  get free(): number {
    return Math.max(0, this.#options.capacity - this.#inside.total);
  }

  /** Rejects with a refusal, or with the signal's reason. */
  enter(key: string, asked: number, signal: AbortSignal, entry: EntryOptions = {}): Promise<Permit> {
    const { rank = 'normal' } = entry;
    const isLow = rank === 'low';
    const { waitMs } = (isLow ? this.#options.low : null) ?? this.#options;
    // An entry larger than the capacity is admitted alone.
    const size = Math.min(asked, this.#capacityFor(key, rank));
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const line = this.#lines[rank];
    return new Promise<Permit>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        if (!isLow) this.#waiting -= size;
      };
      const waiter: Waiter = {
        ...entry,
        isInside: false,
        key,
        size,
        rank,
        since: this.#options.clock.now(),
        enter: () => {
          stopWaiting();
          waiter.isInside = true;
          this.#inside.hold(waiter, size);
          if (isLow) {
            this.#insideLow += size;
            this.#asked.hold(waiter, size);
          }
          resolve(this.#permit(waiter));
        },
        dismiss: (error) => {
          stopWaiting();
          this.#asked.release(waiter);
          line.leave(key, waiter);
          reject(error);
          // It may have been the first, and blocked others.
          this.#advance();
        },
      };
      const giveUp = (): void => waiter.dismiss(signal.reason);
      const isWithinShare = this.#asked.isWithinShare(key, size);
      if (!isLow) {
        this.#makeOthersYield(waiter, size);
        this.#asked.hold(waiter, size);
        this.#waiting += size;
        // An administrator may have taken the last place, so what others gave up is not enough for those that wait.
        if (this.#options.onlyShareWaits === true && this.#options.isAdmin?.(key) === true) {
          for (const other of this.#lines.normal.heads()) this.#makeOthersYield(other, 0);
        }
      }
      line.join(key, waiter);
      this.#advance();
      if (line.newestOf(key) !== waiter) return;
      signal.addEventListener('abort', giveUp, { once: true });
      timer = setTimeout(() => waiter.dismiss(this.#refusal('late')), waitMs);
      if (!isLow) this.#makeRoomFor(waiter, isWithinShare);
    });
  }

  /** Entries of low rank leave a place to others of the same key: an administrator's last one is of no use to those. */
  #capacityFor(key: string, rank: Rank): number {
    const capacity = this.#inside.capacityFor(key);
    if (rank === 'normal') return capacity;
    const { low, place = 1 } = this.#options;
    return Math.min(low?.capacity ?? 0, Math.max(place, capacity - place));
  }

  #permit(entry: Waiter): Permit {
    let rest = entry.size;
    return {
      leave: (some = rest) => {
        const left = Math.min(some, rest);
        if (left < rest && left === 0) return;
        rest -= left;
        for (const budget of [this.#inside, this.#asked]) budget.release(entry, left);
        if (entry.rank === 'low') this.#insideLow -= left;
        this.#advance();
      },
    };
  }

  /** Asks entries of other keys to leave that have more than their share, so that this one can have `more`. */
  #makeOthersYield(waiter: Waiter, more: number): void {
    for (const entry of this.#asked.yieldingTo(waiter, more) ?? []) {
      // It counts as gone, so that the next one asks another.
      this.#asked.release(entry);
      if (entry.yielding?.giveWay() === true) this.#inside.release(entry);
    }
  }

  /** Admits all that fit. */
  #advance(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      const waitedMs = this.#options.clock.now() - next.since;
      // It is what a client may expect.
      if (next.rank === 'normal') this.#lastWaitMs = waitedMs;
      this.#lines[next.rank].serve(next.key, next);
      this.#beforeLow = next.rank === 'low' || !this.#hasLow() ? 0 : this.#beforeLow + 1;
      next.enter();
      if (waitedMs > 0) this.#options.onWaited?.(waitedMs);
    }
    this.#tell();
  }

  /** The first entry is not overtaken even if it does not fit, so that large ones are admitted. */
  #next(): Waiter | null {
    const normal = this.#firstOf('normal');
    const low = this.#nextLow();
    const first = normal === undefined || this.#beforeLow >= BEFORE_LOW ? (low ?? normal) : normal;
    if (first === undefined || this.#fits(first)) return first ?? null;
    // Only an administrator overtakes others: the last place is of no use to them.
    const isAdmin = ({ key }: Waiter): boolean => this.#options.isAdmin?.(key) === true;
    if (isAdmin(first)) return null;
    for (const head of this.#lines.normal.heads()) if (isAdmin(head) && this.#fits(head)) return head;
    return null;
  }

  #fits({ key, size }: Waiter): boolean {
    return this.#inside.fits(key, size);
  }

  #firstOf(rank: Rank): Waiter | undefined {
    let first: Waiter | undefined;
    for (const head of this.#lines[rank].heads()) {
      if (first === undefined || this.#inside.heldBy(head.key) < this.#inside.heldBy(first.key)) first = head;
    }
    return first;
  }

  #nextLow(): Waiter | undefined {
    const first = this.#firstOf('low');
    if (first === undefined) return undefined;
    return this.#insideLow + first.size <= this.#capacityFor(first.key, 'low') ? first : undefined;
  }

  #hasLow(): boolean {
    return !this.#lines.low.heads().next().done;
  }

  /** Drops an entry if the queue is too long. */
  #makeRoomFor(arrived: Waiter, isWithinShare: boolean): void {
    const { maxWaiting, onlyShareWaits } = this.#options;
    if (onlyShareWaits === true && !isWithinShare) {
      arrived.dismiss(this.#refusal(this.#asked.keys === 1 ? 'full' : 'share'));
      return;
    }
    if (arrived.size > maxWaiting) {
      arrived.dismiss(this.#refusal('full'));
      return;
    }
    while (this.#waiting > maxWaiting) {
      const leaving = this.#greediest();
      if (leaving === null) {
        arrived.dismiss(this.#refusal('full'));
        return;
      }
      leaving.dismiss(this.#refusal('share'));
      if (leaving === arrived) return;
    }
  }

  /** The newest entry of the key with the most, if that is above an equal share. */
  #greediest(): Waiter | null {
    const fairShare = this.#asked.total / this.#asked.keys;
    const [most] = [...this.#lines.normal.heads()]
      .filter(({ key }) => this.#asked.heldBy(key) > fairShare)
      .toSorted((one, other) => this.#asked.heldBy(other.key) - this.#asked.heldBy(one.key));
    return most === undefined ? null : (this.#lines.normal.newestOf(most.key) ?? null);
  }

  /** Suggests retrying after the last observed wait. */
  #refusal(why: LimiterRefusal): Error {
    const seconds = Math.ceil(Math.min(this.#lastWaitMs, this.#options.waitMs) / 1000);
    return this.#options.refuse(why, Math.max(1, seconds));
  }

  #tell(): void {
    this.#options.onChange({ inside: this.#inside.total, waiting: this.#waiting });
  }
}
