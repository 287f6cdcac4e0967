import { setTimeout as sleep } from 'node:timers/promises';

import type { Clock } from '../kit/ambient.ts';
import type { LimitClaim, LimitWindow, Reservation, Reserved } from '../store/ports/limits.ts';
import type { ReservationStore } from './reservations.ts';

export interface EarlyReserveOptions {
  readonly store: ReservationStore;
  readonly clock: Clock;
  /** How long a reservation waits to be written. */
  readonly delayMs?: number;
  /** A request runs whose reservation the store does not have: what it uses may not be counted. */
  readonly onLost: (error: unknown) => void;
}

/** What is known about a limit of a key. */
interface KnownLimit {
  /** As the store had it after the last reservation that was written. */
  readonly window: LimitWindow;
  /** Reserved, and not written yet. */
  readonly pending: number;
}

interface KnownKey {
  /** By their names. Empty: only the store knows. */
  readonly limits: Map<string, KnownLimit>;
  readonly writing: Set<Promise<void>>;
  /** How many reservations wait for the store to decide. Until then it decides about all others, too. */
  asking: number;
}

/** Until the model request is on its way: the thread of the database would compete with it. */
const DELAY_MS = 20;

/** More than there are keys. */
const MAX_KEYS = 20_000;

/**
 * Answers a reservation before the store has written it, if there is room for it by what is known. For a database that no
 * other server writes to, so that its counters are never higher than what is known here: requests that have ended, and a
 * reset by the command line, only lower them. Where there is no room, or the window is not known, the store decides, after
 * everything of the key was written.
 */
export class EarlyReserve implements ReservationStore {
  readonly #options: EarlyReserveOptions;
  readonly #keys = new Map<string, KnownKey>();
  /** Reservations that are not written yet, by their ids. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: EarlyReserveOptions) {
    this.#options = options;
  }

  async reserve(reservation: Reservation): Promise<Reserved> {
    const { id, keyId, limits } = reservation;
    const known = this.#knownOf(keyId);
    const windows = known.asking > 0 ? null : this.#roomIn(known, limits);
    if (windows === null) return this.#ask(reservation, known);
    addPending(known, limits, 1);
    const writing = this.#write(reservation, known).finally(() => {
      known.writing.delete(writing);
      this.#writing.delete(id);
    });
    known.writing.add(writing);
    this.#writing.set(id, writing);
    return { isReserved: true, windows };
  }

  async settle(id: string, used: Readonly<Record<string, number>>): Promise<boolean> {
    await this.#writing.get(id);
    return this.#options.store.settle(id, used);
  }

  async giveBack(id: string): Promise<boolean> {
    await this.#writing.get(id);
    return this.#options.store.giveBack(id);
  }

  #knownOf(keyId: string): KnownKey {
    const known = this.#keys.get(keyId) ?? { limits: new Map(), writing: new Set(), asking: 0 };
    this.#keys.set(keyId, known);
    const [oldest] = this.#keys;
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) {
      const [oldestId, { writing, asking }] = oldest;
      if (writing.size === 0 && asking === 0) this.#keys.delete(oldestId);
    }
    return known;
  }

  /** The windows with this reservation; null: there is no room in one, or nothing is known about it. */
  #roomIn({ limits }: KnownKey, claims: readonly LimitClaim[]): ReadonlyMap<string, LimitWindow> | null {
    const now = this.#options.clock.now();
    const windows = new Map<string, LimitWindow>();
    for (const { name, max, amount, resetsAt, lengthMs } of claims) {
      const limit = limits.get(name);
      if (limit === undefined) return null;
      const { window, pending } = limit;
      const isLive = window.resetsAt > now && window.resetsAt <= resetsAt + lengthMs;
      const used = window.used + pending + amount;
      if (!isLive || used > max) return null;
      windows.set(name, { ...window, used });
    }
    return windows;
  }

  async #ask(reservation: Reservation, known: KnownKey): Promise<Reserved> {
    known.asking += 1;
    try {
      await Promise.all(known.writing);
      const reserved = await this.#options.store.reserve(reservation);
      if (reserved.isReserved) {
        // Nothing of the key is being written.
        for (const [name, window] of reserved.windows) known.limits.set(name, { window, pending: 0 });
      }
      return reserved;
    } finally {
      known.asking -= 1;
    }
  }

  /** Writes a reservation that was answered. If that fails, the store decides about the next ones. */
  async #write(reservation: Reservation, known: KnownKey): Promise<void> {
    await sleep(this.#options.delayMs ?? DELAY_MS);
    try {
      const reserved = await this.#options.store.reserve(reservation);
      if (!reserved.isReserved) throw new Error(`the limit ${reserved.name} was used up meanwhile`);
      addPending(known, reservation.limits, -1);
      for (const [name, window] of reserved.windows) {
        const limit = known.limits.get(name);
        if (limit !== undefined) known.limits.set(name, { ...limit, window });
      }
    } catch (error) {
      known.limits.clear();
      this.#options.onLost(error);
    }
  }
}

const addPending = ({ limits }: KnownKey, claims: readonly LimitClaim[], sign: 1 | -1): void => {
  for (const { name, amount } of claims) {
    const limit = limits.get(name);
    if (limit !== undefined) limits.set(name, { ...limit, pending: limit.pending + sign * amount });
  }
};
