import { sql, type Kysely } from 'kysely';

import { schemaVersion } from '../migrations/migrate.ts';
import { STORE_CHECK } from '../key-check.ts';
import type { StoreSchema } from '../operations.ts';
import { keyIdsOf } from '../seal.ts';
import type { Tables } from '../tables.ts';

/** What a database contains, for its operator. */
export interface StoreStatus {
  readonly kind: 'sqlite' | 'postgres';
  /** The file, or the URL without a password. */
  readonly place: string;
  readonly schemaVersion: number;
  readonly knownVersion: number;
  readonly bytes: number;
  /** Null: the schema is not the one that this program knows. */
  readonly content: StoreContent | null;
}

export interface StoreContent {
  /** What each part says about its rows, by the name of the line. */
  readonly lines: readonly (readonly [string, string])[];
  /** Rows that wait for deletion. */
  readonly expired: number;
  /** When the oldest row that expires was created. */
  readonly oldest: number | null;
  readonly encryption: readonly Encryption[];
}

/** How many bodies have this form. */
export interface Encryption {
  readonly form: 'plain' | 'current key' | 'earlier key' | 'unknown key';
  /** Null: plain. */
  readonly keyId: string | null;
  readonly rows: number;
}

/** Reads whole tables: this is for a person who waits, not for a server. */
export const readStatus = async (
  db: Kysely<Tables>,
  about: Pick<StoreStatus, 'kind' | 'place' | 'bytes'>,
  { keys, now, schema }: StatusDeps,
): Promise<StoreStatus> => {
  const knownVersion = schema.migrations.length;
  const tables = await db.introspection.getTables();
  const isEmpty = !tables.some(({ name }) => name === 'schema_version');
  const version = isEmpty ? 0 : await schemaVersion(db);
  const content = version === knownVersion ? await readContent(db, { keys, now, schema }) : null;
  return { ...about, schemaVersion: version, knownVersion, content };
};

interface StatusDeps {
  readonly keys: readonly string[];
  readonly now: number;
  readonly schema: StoreSchema;
}

const readContent = async (db: Kysely<Tables>, { keys, now, schema }: StatusDeps): Promise<StoreContent> => {
  const tables = Object.entries(schema.tables);
  const swept = tables.filter(([, { isSwept }]) => isSwept === true);
  const rows: Record<string, number> = {};
  for (const [table] of tables)
    rows[table] = (await numberOf(db, table, sql`count(*)`, contentOf(table))) ?? 0;
  let expired = 0;
  for (const [table] of swept) {
    expired += (await numberOf(db, table, sql`count(*)`, sql`where expires_at <= ${now}`)) ?? 0;
  }
  const created: number[] = [];
  for (const [table, { columns }] of swept) {
    if (!('created_at' in columns)) continue;
    created.push((await numberOf(db, table, sql`min(created_at)`)) ?? Number.POSITIVE_INFINITY);
  }
  const oldest = Math.min(...created);
  return {
    lines: Object.entries(schema.status).map(([name, { text }]) => [name, text(rows)]),
    expired,
    oldest: Number.isFinite(oldest) ? oldest : null,
    encryption: await readEncryption(db, keys, schema.tables),
  };
};

type Part = ReturnType<typeof sql<unknown>>;

/** Without the row that only shows which key is current. */
const contentOf = (table: string): Part => (table === 'memory' ? sql`where kind <> ${STORE_CHECK}` : sql``);

const numberOf = async (
  db: Kysely<Tables>,
  table: string,
  value: Part,
  where: Part = sql``,
): Promise<number | null> => {
  const { rows } = await sql<{
    readonly value: number | null;
  }>`select ${value} as value from ${sql.table(table)} ${where}`.execute(db);
  return rows[0]?.value ?? null;
};

const readEncryption = async (
  db: Kysely<Tables>,
  keys: readonly string[],
  tables: StoreSchema['tables'],
): Promise<readonly Encryption[]> => {
  const counts = new Map<string | null, number>();
  // One body of each row is enough to know its key.
  for (const [table, { sealed }] of Object.entries(tables)) {
    if (sealed === undefined) continue;
    const head = sql`case when substr(${sql.ref(sealed)}, 1, 1) = 'e' then substr(${sql.ref(sealed)}, 2, 8) end`;
    const { rows } = await sql<{
      readonly id: string | null;
      readonly rows: number;
    }>`select ${head} as id, count(*) as rows from ${sql.table(table)} ${contentOf(table)} group by 1`.execute(
      db,
    );
    for (const { id, rows: count } of rows) counts.set(id, (counts.get(id) ?? 0) + count);
  }
  const ring = keyIdsOf(keys);
  const formOf = (keyId: string | null): Encryption['form'] => {
    if (keyId === null) return 'plain';
    const index = ring.indexOf(keyId);
    if (index < 0) return 'unknown key';
    return index === 0 ? 'current key' : 'earlier key';
  };
  return [...counts]
    .map(([keyId, rows]) => ({ form: formOf(keyId), keyId, rows }))
    .toSorted((one, other) => other.rows - one.rows);
};
