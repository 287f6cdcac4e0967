/**
 * What keys have used of their limits. A limit has a name, and an amount that may be used within a window; its meaning is
 * the caller's. `used` includes what running requests have reserved.
 */
export interface LimitStore {
  /**
   * Raises the counters of all these limits, or none of them. The id must be new. A reservation that is neither settled nor
   * given back until `expiresAt` counts as used.
   */
  reserve(reservation: Reservation): Promise<Reserved>;
  /**
   * Replaces what was reserved by what was used, by the names of the limits; a name that is absent keeps its reserve. It may
   * be more than was reserved: then a counter may exceed its limit, and nothing is reserved until the window ends. A window
   * that has ended, or was reset, is not changed. False: it was settled or given back before, or has expired.
   */
  settle(id: string, used: Readonly<Record<string, number>>): Promise<boolean>;
  /** Lowers the counters by what was reserved. False: as for `settle`. */
  giveBack(id: string): Promise<boolean>;
  /** Ends all windows of the key: the next use begins new ones. What runs now is not counted in those. */
  reset(keyId: string): Promise<void>;
  /** The windows of the key that have begun and not ended, by the names of their limits. */
  status(keyId: string): Promise<ReadonlyMap<string, LimitWindow>>;
}

export interface Reservation {
  readonly id: string;
  readonly keyId: string;
  readonly expiresAt: number;
  readonly limits: readonly LimitClaim[];
}

export interface LimitClaim {
  /** Unique within the key. */
  readonly name: string;
  /** Integers, like all amounts. */
  readonly max: number;
  readonly amount: number;
  /** When a window ends that begins now. */
  readonly resetsAt: number;
  /** The longest time of a window. One that would last longer than two was begun by a wrong clock: it ends at once. */
  readonly lengthMs: number;
}

export interface LimitWindow {
  readonly used: number;
  readonly beganAt: number;
  readonly resetsAt: number;
}

export type Reserved =
  /** The windows by the names of the limits, with what was reserved now. */
  | { readonly isReserved: true; readonly windows: ReadonlyMap<string, LimitWindow> }
  /** The limit with the latest reset of those that have too little left. Its window may be one that has not begun. */
  | { readonly isReserved: false; readonly name: string; readonly window: LimitWindow };
