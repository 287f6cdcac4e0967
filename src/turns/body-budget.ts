import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import type { Clock } from '../kit/ambient.ts';
import { FairLine } from '../kit/async/limiter.ts';
import { FairBudget } from '../kit/collections/fair-budget.ts';

/** Limits the total size of the bodies of all current requests, and of the answers that their clients have not read. */
export interface BodyBudget {
  /** Holds nothing yet. `onYield` is called at most once: the request has to end with this error. */
  open(caller: string, signal: AbortSignal, onYield: (error: GatewayError) => void): HeldBytes;
}

/** The bytes that one request body holds until released. */
export interface HeldBytes {
  readonly caller: string;
  /** Bytes held now. */
  readonly bytes: number;
  /** Waits until the body may be read, or throws. Does not hold the announced bytes yet. */
  start(announced: number): Promise<void>;
  /** Adds bytes received or derived. Throws if there is no room for them, or if this body was dropped for another. */
  grow(bytes: number): void;
  /** Adds bytes that are in memory already, such as those of an answer: nothing is refused, but others may have to yield. */
  keep(bytes: number): void;
  /** The turn runs: the body is no longer dropped for others. */
  settle(): void;
  /** The request is over. Idempotent; also valid while waiting. */
  letGo(): void;
}

export interface BodyBudgetOptions {
  readonly maxBytes: number;
  readonly waitMs: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
  readonly onRefused: () => void;
}

/** A waiting body is not read and costs only a connection. */
const WAITING_FACTOR = 4;

const FULL = 'The requests in progress are too large in total. Please try again later.';
const YIELDED =
  'The requests in progress are too large in total, and this one was rejected in favour of others. Please try again later.';

/** A request body's share of the budget. */
interface Entry {
  readonly key: string;
  /** Bytes in memory. */
  held: number;
  /** The turn runs and keeps its bytes. Other bodies can be dropped, and sent again. */
  isFixed: boolean;
  readonly giveWay: () => void;
}

/** Of a key the newest body is dropped. */
const newest = (own: readonly Entry[], asking: Entry): Entry | undefined =>
  own.findLast((entry) => !entry.isFixed && (entry.held > 0 || entry === asking));

interface Waiter {
  readonly caller: string;
  readonly size: number;
  readonly since: number;
  readonly enter: () => void;
  readonly dismiss: (error: unknown) => void;
}

export const createBodyBudget = (options: BodyBudgetOptions): BodyBudget => new Budget(options);

type HeldActions = Omit<HeldBytes, 'caller' | 'bytes'>;

/** Not a literal with a getter: see `test/architecture/kept-garbage.test.ts`. */
class Held implements HeldBytes {
  readonly caller: string;
  readonly start: HeldActions['start'];
  readonly grow: HeldActions['grow'];
  readonly keep: HeldActions['keep'];
  readonly settle: HeldActions['settle'];
  readonly letGo: HeldActions['letGo'];
  readonly #bytes: () => number;

  constructor(caller: string, bytes: () => number, actions: HeldActions) {
    this.caller = caller;
    this.#bytes = bytes;
    this.start = actions.start;
    this.grow = actions.grow;
    this.keep = actions.keep;
    this.settle = actions.settle;
    this.letGo = actions.letGo;
  }

  get bytes(): number {
    return this.#bytes();
  }
}

class Budget implements BodyBudget {
  readonly #options: BodyBudgetOptions;
  /** The bytes in memory, which are limited in total. */
  readonly #held: FairBudget<Entry>;
  /** The same with what was announced and has not arrived. It only delays other bodies of its key. */
  readonly #expected: FairBudget<Entry>;
  #fixedBytes = 0;
  /** Bodies not read yet. One that fits may overtake other callers' larger ones. */
  readonly #line = new FairLine<Waiter>();
  readonly #waiting = new Map<string, number>();
  /** Wait of the request admitted last. */
  #lastWaitMs = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
    this.#held = new FairBudget({ capacity: options.maxBytes, first: newest });
    this.#expected = new FairBudget({ capacity: options.maxBytes });
  }

  open(caller: string, signal: AbortSignal, onYield: (error: GatewayError) => void): HeldBytes {
    let refusal: GatewayError | null = null;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      if (entry.isFixed) this.#fixedBytes -= entry.held;
      this.#held.release(entry);
      this.#expected.release(entry);
      this.#changed();
    };
    const entry: Entry = {
      key: caller,
      held: 0,
      isFixed: false,
      giveWay: () => {
        refusal = this.#refusal(YIELDED);
        end();
        onYield(refusal);
      },
    };
    // Its place in the order of arrival.
    this.#held.hold(entry, 0);
    return new Held(caller, () => (isOver ? 0 : entry.held), {
      start: async (announced) => {
        // A body larger than the whole budget is admitted alone.
        const size = Math.min(announced, this.#options.maxBytes);
        const enter = (): void => {
          if (!isOver) this.#expect(entry, size);
        };
        if (this.#mayStart(caller, size)) enter();
        else await this.#wait({ caller, size, signal, enter });
      },
      grow: (bytes) => {
        if (refusal !== null) throw refusal;
        if (!isOver) this.#grow(entry, Math.min(bytes, this.#options.maxBytes - entry.held));
      },
      keep: (bytes) => {
        if (!isOver) this.#keep(entry, bytes);
      },
      settle: () => {
        if (!entry.isFixed && !isOver) this.#fixedBytes += entry.held;
        entry.isFixed = true;
      },
      letGo: end,
    });
  }

  #grow(entry: Entry, more: number): void {
    const yielding = this.#yieldingTo(entry, more);
    if (yielding === null) throw this.#refusal(FULL);
    this.#hold(entry, more, yielding);
  }

  #keep(entry: Entry, more: number): void {
    this.#hold(entry, more, this.#yieldingTo(entry, more) ?? []);
  }

  #yieldingTo(entry: Entry, more: number): readonly Entry[] | null {
    return this.#held.fits(entry.key, more) ? [] : this.#held.yieldingTo(entry, more);
  }

  #hold(entry: Entry, more: number, yielding: readonly Entry[]): void {
    for (const one of yielding) one.giveWay();
    entry.held += more;
    if (entry.isFixed) this.#fixedBytes += more;
    this.#held.hold(entry, more);
    this.#expect(entry, entry.held);
    this.#options.onChange(this.#held.total);
  }

  /** A body counts with what it has, or with what it was to have if that is more. */
  #expect(entry: Entry, bytes: number): void {
    this.#expected.hold(entry, Math.max(0, bytes - this.#expected.sizeOf(entry)));
  }

  /**
   * Whether a body of this size may be read now: all announced bytes fit, or its key is within its share. In the second
   * case others may have to be dropped, so the fixed ones must leave it room.
   */
  #mayStart(caller: string, bytes: number): boolean {
    if (this.#expected.fits(caller, bytes)) return true;
    return this.#fixedBytes + bytes <= this.#options.maxBytes && this.#expected.isWithinShare(caller, bytes);
  }

  #wait(asked: Pick<Waiter, 'caller' | 'size' | 'enter'> & { readonly signal: AbortSignal }): Promise<void> {
    const { caller, size, signal } = asked;
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      this.#countWaiting(caller, -size);
    };
    const waiter: Waiter = {
      caller,
      size,
      since: this.#options.clock.now(),
      enter: () => {
        leave();
        asked.enter();
        resolve();
      },
      dismiss: (error) => {
        leave();
        this.#line.leave(caller, waiter);
        reject(error);
      },
    };
    const giveUp = (): void => waiter.dismiss(signal.reason);
    const timer = setTimeout(() => waiter.dismiss(this.#refusal(FULL)), this.#options.waitMs);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#line.join(caller, waiter);
    this.#countWaiting(caller, size);
    this.#shortenLine();
    return promise;
  }

  /** Too much is waiting: drops the newest body of the key that holds and awaits the most. */
  #shortenLine(): void {
    const bound = this.#options.maxBytes * WAITING_FACTOR;
    while ([...this.#waiting.values()].reduce((sum, size) => sum + size, 0) > bound) {
      const wants = ([caller, size]: readonly [string, number]): number =>
        size + this.#expected.heldBy(caller);
      const [greediest] = [...this.#waiting].toSorted((one, other) => wants(other) - wants(one));
      const leaving = greediest === undefined ? undefined : this.#line.newestOf(greediest[0]);
      if (leaving === undefined) return;
      leaving.dismiss(this.#refusal(FULL));
    }
  }

  #countWaiting(caller: string, more: number): void {
    const size = (this.#waiting.get(caller) ?? 0) + more;
    if (size === 0) this.#waiting.delete(caller);
    else this.#waiting.set(caller, size);
  }

  /** A request has ended: admits those that now fit. */
  #changed(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      this.#lastWaitMs = this.#options.clock.now() - next.since;
      this.#line.serve(next.caller, next);
      next.enter();
    }
    this.#options.onChange(this.#held.total);
  }

  #next(): Waiter | null {
    for (const first of this.#line.heads()) {
      if (this.#mayStart(first.caller, first.size)) return first;
    }
    return null;
  }

  /** Suggests retrying after the last observed wait. */
  #refusal(message: string): GatewayError {
    this.#options.onRefused();
    const seconds = Math.ceil(Math.min(this.#lastWaitMs, this.#options.waitMs) / 1000);
    return gatewayError('server_overloaded', { message, retryAfterSeconds: Math.max(1, seconds) });
  }
}
