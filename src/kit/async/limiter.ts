import type { Clock } from '../ambient.ts';
import { FairLine } from './fair-line.ts';

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
  /** The total size of waiting entries. */
  readonly maxWaiting: number;
  readonly waitMs: number;
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

interface Waiter {
  readonly key: string;
  readonly size: number;
  readonly rank: Rank;
  readonly since: number;
  readonly enter: () => void;
  readonly dismiss: (error: unknown) => void;
}

/** After so many others, an entry of low rank comes first: it waits longer than others, but not forever. */
const BEFORE_LOW = 4;

/**
 * Admits entries that fit, and queues the rest for a limited time, fairly between keys. When the queue is full, the key
 * furthest above an equal share of all running and waiting entries loses its newest waiting entry. Entries of low rank
 * wait in a queue of their own, and leave most of the room to others.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #lines = { normal: new FairLine<Waiter>(), low: new FairLine<Waiter>() };
  /** Running and waiting sizes by key; of low rank only the running ones. */
  readonly #held = new Map<string, number>();
  #inside = 0;
  #insideLow = 0;
  #waiting = 0;
  /** How many others were admitted while an entry of low rank waited. */
  #beforeLow = 0;
  /** The wait of the entry admitted last. */
  #lastWaitMs = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
  }

  /** Rejects with a refusal, or with the signal's reason. */
  enter(key: string, asked: number, signal: AbortSignal, rank: Rank = 'normal'): Promise<Permit> {
    const isLow = rank === 'low';
    const { capacity, waitMs } = (isLow ? this.#options.low : null) ?? this.#options;
    // An entry larger than the capacity is admitted alone.
    const size = Math.min(asked, capacity);
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const line = this.#lines[rank];
    if (!isLow) this.#hold(key, size);
    return new Promise<Permit>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        if (!isLow) this.#waiting -= size;
      };
      const waiter: Waiter = {
        key,
        size,
        rank,
        since: this.#options.clock.now(),
        enter: () => {
          stopWaiting();
          this.#inside += size;
          if (isLow) {
            this.#insideLow += size;
            this.#hold(key, size);
          }
          resolve(this.#permit(key, rank, size));
        },
        dismiss: (error) => {
          stopWaiting();
          if (!isLow) this.#hold(key, -size);
          line.leave(key, waiter);
          reject(error);
          // It may have been the first, and blocked others.
          this.#advance();
        },
      };
      const giveUp = (): void => waiter.dismiss(signal.reason);
      if (!isLow) this.#waiting += size;
      line.join(key, waiter);
      this.#advance();
      if (line.newestOf(key) !== waiter) return;
      signal.addEventListener('abort', giveUp, { once: true });
      timer = setTimeout(() => waiter.dismiss(this.#refusal('late')), waitMs);
      if (!isLow) this.#makeRoomFor(waiter);
    });
  }

  #permit(key: string, rank: Rank, size: number): Permit {
    let rest = size;
    return {
      leave: (some = rest) => {
        const given = Math.min(some, rest);
        if (given === 0) return;
        rest -= given;
        this.#inside -= given;
        if (rank === 'low') this.#insideLow -= given;
        this.#hold(key, -given);
        this.#advance();
      },
    };
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
    const [normal] = this.#lines.normal.heads();
    const low = this.#nextLow();
    const first = normal === undefined || this.#beforeLow >= BEFORE_LOW ? (low ?? normal) : normal;
    return first !== undefined && this.#inside + first.size <= this.#options.capacity ? first : null;
  }

  #nextLow(): Waiter | undefined {
    const [first] = this.#lines.low.heads();
    const capacity = this.#options.low?.capacity ?? 0;
    return first !== undefined && this.#insideLow + first.size <= capacity ? first : undefined;
  }

  #hasLow(): boolean {
    return !this.#lines.low.heads().next().done;
  }

  /** Drops an entry if the queue is too long. */
  #makeRoomFor(arrived: Waiter): void {
    if (arrived.size > this.#options.maxWaiting) {
      arrived.dismiss(this.#refusal('full'));
      return;
    }
    while (this.#waiting > this.#options.maxWaiting) {
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
    const fairShare = (this.#inside + this.#waiting) / this.#held.size;
    const [most] = [...this.#held]
      .filter(([key, held]) => held > fairShare && this.#lines.normal.has(key))
      .toSorted(([, one], [, other]) => other - one);
    return most === undefined ? null : (this.#lines.normal.newestOf(most[0]) ?? null);
  }

  /** Suggests retrying after the last observed wait. */
  #refusal(why: LimiterRefusal): Error {
    const seconds = Math.ceil(Math.min(this.#lastWaitMs, this.#options.waitMs) / 1000);
    return this.#options.refuse(why, Math.max(1, seconds));
  }

  #hold(key: string, more: number): void {
    const held = (this.#held.get(key) ?? 0) + more;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
  }

  #tell(): void {
    this.#options.onChange({ inside: this.#inside, waiting: this.#waiting });
  }
}
