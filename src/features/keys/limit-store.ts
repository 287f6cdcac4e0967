import type { Migration } from '../../store/migrations/migration.ts';
import { read, relaxed, write, type Query } from '../../store/operation.ts';
import type { StorePart, Sweep, TableNotes } from '../../store/part.ts';
import { deleteExpired } from '../../store/queries/expressions.ts';

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
  status(keyId: string): Promise<ReadonlyMap<string, CounterWindow>>;
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

export interface CounterWindow {
  readonly used: number;
  readonly beganAt: number;
  readonly resetsAt: number;
}

export type Reserved =
  /** The windows by the names of the limits, with what was reserved now. */
  | { readonly isReserved: true; readonly windows: ReadonlyMap<string, CounterWindow> }
  /** The limit with the latest reset of those that have too little left. Its window may be one that has not begun. */
  | { readonly isReserved: false; readonly name: string; readonly window: CounterWindow };

/** Numbers about keys, no contents: nothing here is encrypted. */
const limitTables: Migration = ({ text, byKeyAlone }) => [
  `create table limit_counters (
    key_id ${text} not null,
    name ${text} not null,
    window_id ${text} not null,
    used bigint not null,
    began_at bigint not null,
    resets_at bigint not null,
    primary key (key_id, name)
  ) ${byKeyAlone}`,
  'create index limit_counters_reset on limit_counters (resets_at)',
  `create table limit_reservations (
    id ${text} primary key,
    key_id ${text} not null,
    expires_at bigint not null,
    amounts ${text} not null
  )`,
  'create index limit_reservations_expiry on limit_reservations (expires_at)',
];

/** What a key has used in the current window of one of its limits. */
interface LimitCounterTable {
  key_id: string;
  name: string;
  /** The id of the reservation that began the window: no two windows have the same. */
  window_id: string;
  /** Includes what is reserved. */
  used: number;
  began_at: number;
  resets_at: number;
}

/** What a running request has reserved. Without its row, it was settled. */
interface LimitReservationTable {
  id: string;
  key_id: string;
  expires_at: number;
  /** JSON: the name of each limit, the id of its window, and the amount. */
  amounts: string;
}

interface LimitTables {
  limit_counters: LimitCounterTable;
  limit_reservations: LimitReservationTable;
}

type LimitQuery = Query<LimitTables>;

/** The name of a limit, the id of its window, and the amount. */
type Reserve = readonly [name: string, windowId: string, amount: number];

const COLUMNS = ['name', 'window_id', 'used', 'began_at', 'resets_at'] as const;

type Counter = Pick<LimitCounterTable, (typeof COLUMNS)[number]>;

/** Always in the same order: two transactions that lock several rows never wait for each other. */
const locked = async (
  { db }: LimitQuery,
  keyId: string,
  names: readonly string[],
): Promise<readonly Counter[]> =>
  db
    .selectFrom('limit_counters')
    .select(COLUMNS)
    .where('key_id', '=', keyId)
    .where('name', 'in', names)
    .orderBy('name')
    .forUpdate()
    .execute();

const windowOf = ({ used, began_at, resets_at }: Counter): CounterWindow => ({
  used,
  beganAt: began_at,
  resetsAt: resets_at,
});

const isLive = ({ resets_at }: Counter, { resetsAt, lengthMs }: LimitClaim, now: number): boolean =>
  resets_at > now && resets_at <= resetsAt + lengthMs;

const reserve = async (
  query: LimitQuery,
  { id, keyId, expiresAt, limits }: Reservation,
): Promise<Reserved> => {
  const { db, now } = query;
  const claims = limits.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const found = await locked(
    query,
    keyId,
    claims.map(({ name }) => name),
  );
  const byName = new Map(found.map((counter) => [counter.name, counter]));
  const raised = claims.map((claim) => {
    const { name, amount, resetsAt } = claim;
    const counter = byName.get(name);
    const current =
      counter !== undefined && isLive(counter, claim, now)
        ? counter
        : { name, window_id: id, used: 0, began_at: now, resets_at: resetsAt };
    return { claim, current, next: { ...current, used: current.used + amount } };
  });
  const [refused] = raised
    .filter(({ claim, next }) => next.used > claim.max)
    .toSorted((one, other) => other.current.resets_at - one.current.resets_at);
  if (refused !== undefined) {
    return { isReserved: false, name: refused.claim.name, window: windowOf(refused.current) };
  }
  const rows = raised.map(({ next }) => ({ key_id: keyId, ...next }));
  await writeCounters(
    query,
    rows.filter(({ name }) => byName.has(name)),
  );
  const added = rows.filter(({ name }) => !byName.has(name));
  // If another transaction adds one of them meanwhile, this one fails and is run again.
  if (added.length > 0) await db.insertInto('limit_counters').values(added).execute();
  const amounts: readonly Reserve[] = raised.map(({ claim, next }) => [
    claim.name,
    next.window_id,
    claim.amount,
  ]);
  await db
    .insertInto('limit_reservations')
    .values({ id, key_id: keyId, expires_at: expiresAt, amounts: JSON.stringify(amounts) })
    .execute();
  return {
    isReserved: true,
    windows: new Map(raised.map(({ next }) => [next.name, windowOf(next)])),
  };
};

/** Replaces counters that this transaction has locked. */
const writeCounters = async ({ db }: LimitQuery, rows: readonly LimitCounterTable[]): Promise<void> => {
  if (rows.length === 0) return;
  await db
    .insertInto('limit_counters')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['key_id', 'name']).doUpdateSet((of) => ({
        window_id: of.ref('excluded.window_id'),
        used: of.ref('excluded.used'),
        began_at: of.ref('excluded.began_at'),
        resets_at: of.ref('excluded.resets_at'),
      })),
    )
    .execute();
};

/** The row of a reservation is deleted with the change of the counters: that happens once. */
const end = async (query: LimitQuery, id: string, usedOf: (reserve: Reserve) => number): Promise<boolean> => {
  const row = await query.db
    .deleteFrom('limit_reservations')
    .where('id', '=', id)
    .returning(['key_id', 'amounts'])
    .executeTakeFirst();
  if (row === undefined) return false;
  const reserves = JSON.parse(row.amounts) as readonly Reserve[];
  const changes = new Map(reserves.map((one) => [one[0], { windowId: one[1], by: usedOf(one) - one[2] }]));
  const names = [...changes].filter(([, { by }]) => by !== 0).map(([name]) => name);
  if (names.length === 0) return true;
  const counters = await locked(query, row.key_id, names);
  await writeCounters(
    query,
    counters.flatMap((counter) => {
      const change = changes.get(counter.name);
      if (change === undefined || change.windowId !== counter.window_id) return [];
      return [{ key_id: row.key_id, ...counter, used: Math.max(0, counter.used + change.by) }];
    }),
  );
  return true;
};

const settle = (query: LimitQuery, id: string, used: Readonly<Record<string, number>>): Promise<boolean> =>
  end(query, id, ([name, , amount]) => used[name] ?? amount);

const giveBack = (query: LimitQuery, id: string): Promise<boolean> => end(query, id, () => 0);

const reset = async (query: LimitQuery, keyId: string): Promise<void> => {
  const rows = await query.db
    .selectFrom('limit_counters')
    .select('name')
    .where('key_id', '=', keyId)
    .orderBy('name')
    .forUpdate()
    .execute();
  for (const { name } of rows) {
    await query.db
      .deleteFrom('limit_counters')
      .where('key_id', '=', keyId)
      .where('name', '=', name)
      .execute();
  }
};

const status = async (
  { db, now }: LimitQuery,
  keyId: string,
): Promise<ReadonlyMap<string, CounterWindow>> => {
  const rows = await db
    .selectFrom('limit_counters')
    .select(COLUMNS)
    .where('key_id', '=', keyId)
    .where('resets_at', '>', now)
    .orderBy('name')
    .execute();
  return new Map(rows.map((row) => [row.name, windowOf(row)]));
};

/** Long after the window has ended: a key that is used now and then keeps its row. */
const KEPT_COUNTER_MS = 24 * 60 * 60 * 1000;

type CounterKey = Pick<LimitCounterTable, 'key_id' | 'name'>;

const byKeyAndName = (one: CounterKey, other: CounterKey): number => {
  if (one.key_id !== other.key_id) return one.key_id < other.key_id ? -1 : 1;
  return one.name < other.name ? -1 : 1;
};

const deleteCounters = async ({ db, now }: LimitQuery, limit: number): Promise<number> => {
  const endedBefore = now - KEPT_COUNTER_MS;
  const rows = await db
    .selectFrom('limit_counters')
    .select(['key_id', 'name'])
    .where('resets_at', '<=', endedBefore)
    .orderBy('resets_at')
    .limit(limit)
    .execute();
  let deleted = 0;
  // In the order in which reservations lock them.
  for (const { key_id, name } of rows.toSorted(byKeyAndName)) {
    const { numDeletedRows } = await db
      .deleteFrom('limit_counters')
      .where('key_id', '=', key_id)
      .where('name', '=', name)
      // It may have begun again.
      .where('resets_at', '<=', endedBefore)
      .executeTakeFirst();
    deleted += Number(numDeletedRows);
  }
  return deleted;
};

const sweep: Sweep = async (query, limit) =>
  // What they reserved counts as used.
  (await deleteExpired(query, 'limit_reservations', limit)) + (await deleteCounters(query, limit));

/** For docs/store-schema.md. */
const NOTES: TableNotes<LimitTables> = {
  limit_counters: {
    after: 'requests',
    about: 'What a key has used in the current window of one of its limits.',
    columns: {
      key_id: 'the id of the API key',
      name: 'unit, window and model pattern of the limit',
      window_id: 'the reservation that began the window: a reservation of another window does not change it',
      used: 'tokens, requests, or millionths of the currency; includes what is reserved',
      began_at: 'the first use in the window',
      resets_at: 'the end of the window; the sweep deletes the row a day later',
    },
  },
  limit_reservations: {
    isSwept: true,
    about: 'What a running request has reserved. Settling it deletes the row, so it happens once.',
    columns: {
      id: '',
      key_id: 'the id of the API key',
      expires_at: 'the instance has died: the sweep deletes the row, and the reserve counts as used',
      amounts: 'JSON: name of the limit, id of its window, amount',
    },
  },
};

export const limitStore: StorePart<LimitStore> = {
  name: 'limits',
  operations: {
    reserve: relaxed(reserve),
    settle: relaxed(settle),
    giveBack: relaxed(giveBack),
    reset: write(reset),
    status: read(status),
  },
  migrations: { 5: limitTables },
  sweep,
  tables: NOTES,
};
