import type { ModelPrice } from '../../canonical/models/prices.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { WriteQueue } from '../../kit/async/write-queue.ts';
import type { LimitStore, Receipt } from './limit-store.ts';
import { isPassing } from '../../turns/insistently.ts';
import type { KeyLimit } from './key.ts';
import { claimsOf, limitRefusal, rateHeaders, amountOf, type Expense } from './key-limits.ts';

export interface ReservationOptions {
  readonly store: LimitStore;
  readonly ambient: Ambient;
  /** Called if the usage of a request could not be stored: its reserve counts as used. */
  readonly onUnsettled: (error: unknown) => void;
}

export interface ReserveAsk {
  readonly keyId: string;
  /** The limits that apply, by their names. */
  readonly limits: ReadonlyMap<string, KeyLimit>;
  readonly price: ModelPrice | null;
  /** What may be spent. */
  readonly estimate: Expense;
  readonly signal: AbortSignal;
}

/** What a request has reserved. */
export interface OpenReservation {
  /** Response headers about the limits. */
  readonly headers: Readonly<Record<string, string>>;
  /** Replaces the reserve by what was spent; no turns: gives it back. Once; returns at once. */
  settle(spent: Expense): void;
}

/** A reservation that is never settled, because its instance died, counts as used. Its row is deleted then. */
const EXPIRES_MS = 24 * 60 * 60 * 1_000;
/** While the database is away no reservation is made, so there are never more than turns that ran before. */
const MAX_UNSETTLED = 10_000;
const SETTLED_AT_ONCE = 100;
/** Takes about a minute. */
const MAX_FAILURES = 16;
/** For what still waits when the server ends. */
const CLOSE_MS = 5_000;

interface Settlement {
  readonly id: string;
  /** Absent: it may not have been made. */
  readonly receipt?: Receipt;
  /** What was used of each limit; null: the reservation is given back. */
  readonly amounts: Readonly<Record<string, number>> | null;
}

/** Reserves amounts of the limits of keys, and settles them in the background. */
export class Reservations {
  readonly #options: ReservationOptions;
  readonly #settlements: WriteQueue<Settlement>;

  constructor(options: ReservationOptions) {
    this.#options = options;
    const { store, onUnsettled } = options;
    this.#settlements = new WriteQueue({
      write: async ([{ id, amounts, receipt }]) =>
        amounts === null ? store.giveBack(id, receipt) : store.settle(id, amounts, receipt),
      atOnce: SETTLED_AT_ONCE,
      max: MAX_UNSETTLED,
      retries: (error, failures) => isPassing(error) && failures < MAX_FAILURES,
      onLost: (_, error) => onUnsettled(error),
    });
  }

  /** Rejects with 429 if a limit has too little left, and with the error of the store if that is unavailable. */
  async reserve({ keyId, limits, price, estimate, signal }: ReserveAsk): Promise<OpenReservation> {
    const { store, ambient } = this.#options;
    const now = ambient.clock.now();
    const id = ambient.ids.mint('reserve');
    const claims = claimsOf(limits, estimate, price, now);
    const reserved = await store
      .reserve({ id, keyId, expiresAt: now + EXPIRES_MS, limits: claims })
      .catch((error: unknown) => {
        // It may have happened, or still happen.
        this.#settle({ id, amounts: null });
        throw error;
      });
    if (!reserved.isReserved) {
      const { name, window } = reserved;
      const limit = limits.get(name);
      const amount = claims.find((claim) => claim.name === name)?.amount ?? 0;
      if (limit === undefined) throw new Error(`the store refused an unknown limit ${name}`);
      throw limitRefusal(limit, window, { amount, now });
    }
    const { receipt } = reserved;
    const giveBack = (): void => this.#settle({ id, receipt, amounts: null });
    if (signal.aborted) {
      giveBack();
      signal.throwIfAborted();
    }
    return {
      headers: rateHeaders(limits, reserved.windows, now),
      settle: (spent) => {
        if (spent.turns === 0) giveBack();
        else this.#settle({ id, receipt, amounts: amountsOf(limits, spent, price) });
      },
    };
  }

  /** Waits for what is being settled, within a limit. */
  async close(): Promise<void> {
    const left = await this.#settlements.close(CLOSE_MS);
    for (const _ of left) this.#options.onUnsettled(new Error('the server ends'));
  }

  #settle(settlement: Settlement): void {
    if (this.#settlements.put(settlement.id, settlement)) return;
    this.#options.onUnsettled(new Error('too many reservations wait to be settled'));
  }
}

const amountsOf = (
  limits: ReadonlyMap<string, KeyLimit>,
  spent: Expense,
  price: ModelPrice | null,
): Readonly<Record<string, number>> =>
  Object.fromEntries([...limits].map(([name, { unit }]) => [name, amountOf(unit, spent, price)]));
