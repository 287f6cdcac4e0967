import { read, relaxed, write, type OperationsOf, type Query } from '../operation.ts';
import type { LimitClaim, LimitStore, LimitWindow, Reservation, Reserved } from '../ports/limits.ts';
import type { LimitCounterTable } from '../tables.ts';

/** The name of a limit, the id of its window, and the amount. */
type Reserve = readonly [name: string, windowId: string, amount: number];

const COLUMNS = ['name', 'window_id', 'used', 'began_at', 'resets_at'] as const;

type Counter = Pick<LimitCounterTable, (typeof COLUMNS)[number]>;

/** Always in the same order: two transactions that lock several rows never wait for each other. */
const locked = async ({ db }: Query, keyId: string, names: readonly string[]): Promise<readonly Counter[]> =>
  db
    .selectFrom('limit_counters')
    .select(COLUMNS)
    .where('key_id', '=', keyId)
    .where('name', 'in', names)
    .orderBy('name')
    .forUpdate()
    .execute();

const windowOf = ({ used, began_at, resets_at }: Counter): LimitWindow => ({
  used,
  beganAt: began_at,
  resetsAt: resets_at,
});

const isLive = ({ resets_at }: Counter, { resetsAt, lengthMs }: LimitClaim, now: number): boolean =>
  resets_at > now && resets_at <= resetsAt + lengthMs;

const reserve = async (query: Query, { id, keyId, expiresAt, limits }: Reservation): Promise<Reserved> => {
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
const writeCounters = async ({ db }: Query, rows: readonly LimitCounterTable[]): Promise<void> => {
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
const end = async (query: Query, id: string, usedOf: (reserve: Reserve) => number): Promise<boolean> => {
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

const settle = (query: Query, id: string, used: Readonly<Record<string, number>>): Promise<boolean> =>
  end(query, id, ([name, , amount]) => used[name] ?? amount);

const giveBack = (query: Query, id: string): Promise<boolean> => end(query, id, () => 0);

const reset = async (query: Query, keyId: string): Promise<void> => {
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

const status = async ({ db, now }: Query, keyId: string): Promise<ReadonlyMap<string, LimitWindow>> => {
  const rows = await db
    .selectFrom('limit_counters')
    .select(COLUMNS)
    .where('key_id', '=', keyId)
    .where('resets_at', '>', now)
    .orderBy('name')
    .execute();
  return new Map(rows.map((row) => [row.name, windowOf(row)]));
};

export const limitOperations: OperationsOf<LimitStore> = {
  reserve: relaxed(reserve),
  settle: relaxed(settle),
  giveBack: relaxed(giveBack),
  reset: write(reset),
  status: read(status),
};
