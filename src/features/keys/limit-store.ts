import { sql, type CompiledQuery, type RawBuilder } from 'kysely';

import type { Migration } from '../../store/migrations/migration.ts';
import { batched, read, together, write, type Query } from '../../store/operation.ts';
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
  settle(id: string, used: Readonly<Record<string, number>>, receipt?: Receipt): Promise<boolean>;
  /**
   * Lowers the counters by what was reserved. False: as for `settle`. Without a receipt, the reservation may still be on its
   * way to the database: then it is not written when it arrives.
   */
  giveBack(id: string, receipt?: Receipt): Promise<boolean>;
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
  | {
      readonly isReserved: true;
      readonly windows: ReadonlyMap<string, CounterWindow>;
      readonly receipt: Receipt;
    }
  /** The limit with the latest reset of those that have too little left. Its window may be one that has not begun. */
  | { readonly isReserved: false; readonly name: string; readonly window: CounterWindow };

/** What was reserved in which windows. To end a reservation with it saves a round trip: it is not read first. */
export interface Receipt {
  readonly keyId: string;
  /** The name of each limit, the id of its window, and the amount. */
  readonly reserves: readonly (readonly [name: string, windowId: string, amount: number])[];
}

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
  /** JSON: the name of each limit, the id of its window, and the amount. Empty: the id is taken. */
  amounts: string;
}

interface LimitTables {
  limit_counters: LimitCounterTable;
  limit_reservations: LimitReservationTable;
}

type LimitQuery = Query<LimitTables>;

const COLUMNS = ['name', 'window_id', 'used', 'began_at', 'resets_at'] as const;

type Counter = Pick<LimitCounterTable, (typeof COLUMNS)[number]>;

const windowOf = ({ used, began_at, resets_at }: Counter): CounterWindow => ({
  used,
  beganAt: began_at,
  resetsAt: resets_at,
});

/** Always in the same order: two transactions that lock several rows never wait for each other. */
const lockedCounters = ({ db }: LimitQuery, keyId: string, names: readonly string[]) =>
  db
    .selectFrom('limit_counters')
    .select(COLUMNS)
    .where('key_id', '=', keyId)
    .where('name', 'in', names)
    .orderBy('name')
    .forUpdate();

/** Of a counter and a claim: the same as `isLive` in SQL. */
const liveCondition = (now: number): RawBuilder<boolean> =>
  sql`counter.resets_at > ${now} and counter.resets_at <= claims.resets_at + claims.length_ms`;

const isLive = ({ resets_at }: Counter, { resetsAt, lengthMs }: LimitClaim, now: number): boolean =>
  resets_at > now && resets_at <= resetsAt + lengthMs;

/**
 * Everything is decided by the database, because another instance may use the key at the same time: one statement locks the
 * counters, one writes the reservation if all of its claims fit, one raises the counters if it was written. The second one
 * locks them, too: another instance may have made one since the first. It fails if the id is taken, also if the claims do not
 * fit: the counters would be raised twice.
 */
const reserve = async (query: LimitQuery, { limits, ...reservation }: Reservation): Promise<Reserved> => {
  const claims = limits.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const asked = { ...reservation, claims };
  for (;;) {
    if (query.remote?.mayHaveWritten === true) {
      const earlier = await earlierReservation(query, asked);
      if (earlier !== null) return earlier;
    }
    const [locked, inserted] = await together(query, reserveStatements(query, asked));
    const isReserved = inserted?.rows.length === 1;
    const rows = (locked?.rows ?? []) as readonly Counter[];
    const counters = new Map(rows.map((row) => [row.name, row]));
    if (counters.size === claims.length) return outcomeOf(query, asked, { counters, isReserved });
    const made = isReserved ? await earlierReservation(query, asked) : null;
    if (made !== null) return made;
    // The first use of a limit: its counter has to be there, so that it can be locked.
    await together(query, [emptyCounters(query, asked)]);
  }
};

type Asked = Omit<Reservation, 'limits'> & {
  /** In the order of their names. */
  readonly claims: readonly LimitClaim[];
};

const reserveStatements = (query: LimitQuery, asked: Asked): readonly CompiledQuery[] => {
  const { id, keyId, expiresAt, claims } = asked;
  const { db, now } = query;
  const rows = claims.map(
    ({ name, max, amount, resetsAt, lengthMs }) =>
      sql`(cast(${name} as text), cast(${JSON.stringify(name)} as text), cast(${max} as bigint), cast(${amount} as bigint), cast(${resetsAt} as bigint), cast(${lengthMs} as bigint))`,
  );
  const withClaims = sql`with claims (name, label, most, amount, resets_at, length_ms) as (values ${sql.join(rows)})`;
  const live = liveCondition(now);
  const locked = lockedCounters(
    query,
    keyId,
    claims.map(({ name }) => name),
  );
  const insert = sql`
    ${withClaims},
    counter as ${locked},
    raised (label, window_id, amount, is_within) as (
      select claims.label, case when ${live} then counter.window_id else cast(${id} as text) end, claims.amount,
        case when (case when ${live} then counter.used else 0 end) + claims.amount <= claims.most then 1 else 0 end
      from claims join counter on counter.name = claims.name
    )
    insert into limit_reservations (id, key_id, expires_at, amounts)
    select cast(${id} as text), cast(${keyId} as text), cast(${expiresAt} as bigint),
      '[' || string_agg('[' || label || ',"' || window_id || '",' || amount || ']', ',') || ']'
    from raised
    having sum(is_within) = ${claims.length} or exists (select 1 from limit_reservations where id = ${id})
    returning id`;
  const raise = sql`
    ${withClaims}
    update limit_counters as counter set
      window_id = case when ${live} then counter.window_id else cast(${id} as text) end,
      used = case when ${live} then counter.used else 0 end + claims.amount,
      began_at = case when ${live} then counter.began_at else ${now} end,
      resets_at = case when ${live} then counter.resets_at else claims.resets_at end
    from claims
    where counter.key_id = ${keyId} and counter.name = claims.name
      and exists (select 1 from limit_reservations where id = ${id})`;
  return [locked.compile(), insert.compile(db), raise.compile(db)];
};

/** Counters whose window has ended. */
const emptyCounters = ({ db, now }: LimitQuery, { keyId, claims }: Asked): CompiledQuery =>
  db
    .insertInto('limit_counters')
    .values(
      claims.map(({ name }) => ({
        key_id: keyId,
        name,
        window_id: '',
        used: 0,
        began_at: now,
        // The clocks of instances differ, and the sweep keeps it for a while.
        resets_at: now - KEPT_COUNTER_MS / 2,
      })),
    )
    .onConflict((conflict) => conflict.columns(['key_id', 'name']).doNothing())
    .compile();

/** What the database decided, from the counters as they were locked. */
const outcomeOf = (
  { now }: LimitQuery,
  { id, keyId, claims }: Asked,
  done: { readonly counters: ReadonlyMap<string, Counter>; readonly isReserved: boolean },
): Reserved => {
  const raised = claims.map((claim) => {
    const { name, amount, resetsAt } = claim;
    const counter = done.counters.get(name);
    const current =
      counter !== undefined && isLive(counter, claim, now)
        ? counter
        : { name, window_id: id, used: 0, began_at: now, resets_at: resetsAt };
    return { claim, current, next: { ...current, used: current.used + amount } };
  });
  if (done.isReserved) {
    return {
      isReserved: true,
      windows: new Map(raised.map(({ next }) => [next.name, windowOf(next)])),
      receipt: {
        keyId,
        reserves: raised.map(({ claim, next }) => [next.name, next.window_id, claim.amount]),
      },
    };
  }
  const [refused] = raised
    .filter(({ claim, next }) => next.used > claim.max)
    .toSorted((one, other) => other.current.resets_at - one.current.resets_at);
  if (refused === undefined) throw new Error(`a reservation of ${keyId} fits, and was not written`);
  return { isReserved: false, name: refused.claim.name, window: windowOf(refused.current) };
};

/** Null: no attempt before this one has written it. */
const earlierReservation = async (
  query: LimitQuery,
  { id, keyId, claims }: Asked,
): Promise<Reserved | null> => {
  const receipt = await receiptOf(query, id);
  if (receipt === null) return null;
  const windows = await status(query, keyId);
  const isAsked = new Set(claims.map(({ name }) => name));
  return { isReserved: true, windows: new Map([...windows].filter(([name]) => isAsked.has(name))), receipt };
};

/** Of an id that no reservation may have any more. */
const NOTHING = '[]';
/** Far longer than a connection goes on after its end. */
const TAKEN_MS = 60 * 60 * 1000;

const takeId = ({ db, now }: LimitQuery, id: string): CompiledQuery =>
  db
    .insertInto('limit_reservations')
    .values({ id, key_id: '', expires_at: now + TAKEN_MS, amounts: NOTHING })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .compile();

/** Null: it was settled, given back, or never made. */
const receiptOf = async ({ db }: LimitQuery, id: string): Promise<Receipt | null> => {
  const row = await db
    .selectFrom('limit_reservations')
    .select(['key_id', 'amounts'])
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined || row.amounts === NOTHING
    ? null
    : { keyId: row.key_id, reserves: JSON.parse(row.amounts) as Receipt['reserves'] };
};

/** The row of a reservation is locked, and deleted with the change of the counters: that happens once. */
const end = async (
  query: LimitQuery,
  id: string,
  { keyId, reserves }: Receipt,
  usedOf: (reserve: Receipt['reserves'][number]) => number,
): Promise<boolean> => {
  const { db } = query;
  const changes = reserves.flatMap((one) => {
    const by = usedOf(one) - one[2];
    return by === 0 ? [] : [{ name: one[0], windowId: one[1], by }];
  });
  const isOpen = sql`exists (select 1 from limit_reservations where id = ${id})`;
  const change = () => sql`
    with changes (name, window_id, amount) as (values ${sql.join(
      changes.map(
        ({ name, windowId, by }) =>
          sql`(cast(${name} as text), cast(${windowId} as text), cast(${by} as bigint))`,
      ),
    )})
    update limit_counters as counter
    set used = case when counter.used + changes.amount > 0 then counter.used + changes.amount else 0 end
    from changes
    where counter.key_id = ${keyId} and counter.name = changes.name and counter.window_id = changes.window_id
      and ${isOpen}`;
  const lock = () =>
    db.selectFrom('limit_reservations').select('id').where('id', '=', id).forUpdate().compile();
  const names = changes.map(({ name }) => name);
  const results = await together(query, [
    ...(changes.length === 0
      ? []
      : [lock(), lockedCounters(query, keyId, names).compile(), change().compile(db)]),
    db.deleteFrom('limit_reservations').where('id', '=', id).returning('id').compile(),
  ]);
  return results.at(-1)?.rows.length === 1;
};

const settle = async (
  query: LimitQuery,
  id: string,
  used: Readonly<Record<string, number>>,
  given?: Receipt,
): Promise<boolean> => {
  const receipt = given ?? (await receiptOf(query, id));
  return receipt !== null && end(query, id, receipt, ([name, , amount]) => used[name] ?? amount);
};

/** Without a receipt the id is taken first: this waits for a reservation that is being written. */
const giveBack = async (query: LimitQuery, id: string, given?: Receipt): Promise<boolean> => {
  if (given !== undefined) return end(query, id, given, () => 0);
  const [taken] = await together(query, [takeId(query, id)]);
  if (taken?.rows.length === 1) return false;
  const receipt = await receiptOf(query, id);
  return receipt !== null && end(query, id, receipt, () => 0);
};

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
      amounts: 'JSON: name of the limit, id of its window, amount; `[]`: it must not be written any more',
    },
  },
};

/** What a power cut may undo was used by requests that it ended. */
const RELAXED = { isRelaxed: () => true } as const;

export const limitStore: StorePart<LimitStore> = {
  name: 'limits',
  operations: {
    reserve: batched(reserve, RELAXED),
    settle: batched(settle, RELAXED),
    giveBack: batched(giveBack, RELAXED),
    reset: write(reset),
    status: read(status),
  },
  migrations: { 5: limitTables },
  sweep,
  tables: NOTES,
};
