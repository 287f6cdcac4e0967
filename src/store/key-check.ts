import { sql, type Kysely } from 'kysely';

import type { TableNotes } from './part.ts';
import type { Place, Seal } from './seal.ts';
import type { Tables } from './tables.ts';

/** The database was encrypted with a key that this server does not have. */
export class WrongStoreKeyError extends Error {
  constructor() {
    super(
      'it was encrypted with a key that is not in PROXY_STORE_KEY. All servers of a database need the same keys. If the key is lost, `codex-app-server-proxy db accept-key` makes the database usable without it: what it encrypted can then be deleted, but not read',
    );
    this.name = 'WrongStoreKeyError';
  }
}

/** A kind of the table `memory`. */
export const STORE_CHECK = 'store-check';

const ROW = { kind: STORE_CHECK, key: 'current' };
const PLACE: Place = { column: 'memory.value', row: `${ROW.kind}/${ROW.key}` };
const NEVER = Number.MAX_SAFE_INTEGER;

/**
 * Rejects with `WrongStoreKeyError` if the newest server of this database used another key: each would write what the
 * other cannot read. A row that every start seals with its current key shows it. A database of an earlier version has none,
 * so what was written last counts.
 */
export const checkStoreKey = async (db: Kysely<Tables>, seal: Seal, tables: TableNotes): Promise<void> => {
  const check = await db
    .selectFrom('memory')
    .select('value')
    .where('kind', '=', ROW.kind)
    .where('key', '=', ROW.key)
    .executeTakeFirst();
  const sealed = check?.value ?? (await lastWritten(db, tables));
  if (sealed !== null && !seal.canOpen(sealed)) throw new WrongStoreKeyError();
  // Nothing is written at most starts: they also work on a full disk.
  if (check === undefined || !seal.isCurrent(check.value)) await acceptStoreKey(db, seal);
};

/** From now on servers with the current key can start. */
export const acceptStoreKey = async (db: Kysely<Tables>, seal: Seal): Promise<void> => {
  await db
    .insertInto('memory')
    .values({ ...ROW, value: seal.close(PLACE, ''), expires_at: NEVER })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'key']).doUpdateSet((of) => ({ value: of.ref('excluded.value') })),
    )
    .execute();
};

/** Earlier rows may have been encrypted with keys that were dropped on purpose. */
const lastWritten = async (db: Kysely<Tables>, tables: TableNotes): Promise<string | null> => {
  const signing = await db
    .selectFrom('memory')
    .select('value')
    .where('kind', '=', 'signature-key')
    .executeTakeFirst();
  if (signing !== undefined) return signing.value;
  let last: { readonly sealed: string; readonly createdAt: number } | null = null;
  for (const [table, { sealed, columns }] of Object.entries(tables)) {
    if (sealed === undefined || !('created_at' in columns)) continue;
    const { rows } = await sql<{ readonly sealed: string; readonly createdAt: number }>`
      select ${sql.ref(sealed)} as sealed, created_at as "createdAt" from ${sql.table(table)}
      order by created_at desc limit 1`.execute(db);
    const [row] = rows;
    if (row !== undefined && row.createdAt > (last?.createdAt ?? -1)) last = row;
  }
  return last?.sealed ?? null;
};
