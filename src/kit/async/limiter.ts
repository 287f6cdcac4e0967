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

export interface LimiterOptions {
  /** The total size of running entries. All sizes have the same unit. */
  readonly capacity: number;
  /** The total size of waiting entries. */
  readonly maxWaiting: number;
  readonly waitMs: number;
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
  readonly since: number;
  readonly enter: () => void;
  readonly dismiss: (error: unknown) => void;
}

/**
 * Admits entries that fit, and queues the rest for a limited time, fairly between keys. When the queue is full, the key
 * furthest above an equal share of all running and waiting entries loses its newest waiting entry.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #line = new FairLine<Waiter>();
  /** Running and waiting sizes by key. */
  readonly #held = new Map<string, number>();
  #inside = 0;
  #waiting = 0;
  /** The wait of the entry admitted last. */
  #lastWaitMs = 0;

  constructor(options: LimiterOptions) {
    this.#options = options;
  }

  /** Rejects with a refusal, or with the signal's reason. */
  enter(key: string, asked: number, signal: AbortSignal): Promise<Permit> {
    // An entry larger than the capacity is admitted alone.
    const size = Math.min(asked, this.#options.capacity);
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    this.#hold(key, size);
    return new Promise<Permit>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#waiting -= size;
      };
      const waiter: Waiter = {
        key,
        size,
        since: this.#options.clock.now(),
        enter: () => {
          stopWaiting();
          this.#inside += size;
          resolve(this.#permit(key, size));
        },
        dismiss: (error) => {
          stopWaiting();
          this.#hold(key, -size);
          this.#line.leave(key, waiter);
          reject(error);
          // It may have been the first, and blocked others.
          this.#advance();
        },
      };
      const giveUp = (): void => waiter.dismiss(signal.reason);
      this.#waiting += size;
      this.#line.join(key, waiter);
      this.#advance();
      if (this.#line.newestOf(key) !== waiter) return;
      signal.addEventListener('abort', giveUp, { once: true });
      timer = setTimeout(() => waiter.dismiss(this.#refusal('late')), this.#options.waitMs);
      this.#makeRoomFor(waiter);
    });
  }

  #permit(key: string, size: number): Permit {
    let rest = size;
    return {
      leave: (some = rest) => {
        const given = Math.min(some, rest);
        if (given === 0) return;
        rest -= given;
        this.#inside -= given;
        this.#hold(key, -given);
        this.#advance();
      },
    };
  }

  /** Admits all that fit. */
  #advance(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      this.#lastWaitMs = this.#options.clock.now() - next.since;
      this.#line.serve(next.key, next);
      next.enter();
      if (this.#lastWaitMs > 0) this.#options.onWaited?.(this.#lastWaitMs);
    }
    this.#tell();
  }

  /** The first entry is not overtaken even if it does not fit, so that large ones are admitted. */
  #next(): Waiter | null {
    const [first] = this.#line.heads();
    return first !== undefined && this.#inside + first.size <= this.#options.capacity ? first : null;
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
      .filter(([key, held]) => held > fairShare && this.#line.has(key))
      .toSorted(([, one], [, other]) => other - one);
    return most === undefined ? null : (this.#line.newestOf(most[0]) ?? null);
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
