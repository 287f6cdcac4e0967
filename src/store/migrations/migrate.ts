import { sql, type Kysely } from 'kysely';

import type { Tables } from '../tables.ts';
import { SCHEMA_WORDS, type DatabaseKind, type Migration } from './migration.ts';

/** Versions from before the store had parts: several of them take part in these. */
const SHARED_VERSIONS: ReadonlySet<number> = new Set([1, 7]);

/** All changes of the schema; the first makes version 1. Throws if a version is missing or taken twice. */
export const migrationsOf = (parts: readonly Readonly<Record<number, Migration>>[]): readonly Migration[] => {
  const byVersion = Map.groupBy(
    parts.flatMap((part) => Object.entries(part)),
    ([version]) => Number(version),
  );
  return [...byVersion]
    .toSorted(([one], [other]) => one - other)
    .map(([version, taken], index) => {
      if (version !== index + 1 || (taken.length > 1 && !SHARED_VERSIONS.has(version)))
        throw new Error(
          `Migration ${version} is not the next one: ${index + 1} is free, or a number is taken twice.`,
        );
      return (words) => taken.flatMap(([, migration]) => migration(words));
    });
};

/** A database of a newer program: this one does not know what its columns mean. */
export class NewerSchemaError extends Error {
  constructor(found: number, known: number) {
    super(
      `The database has schema version ${found}, and this version of the program knows only up to ${known}. Install the newer program again, or restore a backup.`,
    );
    this.name = 'NewerSchemaError';
  }
}

/** The version of the schema; 0: the database is empty. */
export const schemaVersion = async (db: Kysely<Tables>): Promise<number> => {
  const row = await db
    .selectFrom('schema_version')
    .select((of) => of.fn.max('version').as('version'))
    .executeTakeFirst();
  return row?.version ?? 0;
};

/**
 * Brings the schema up to date, in the transaction of the caller, who holds a lock that lets only one process in. Throws
 * `NewerSchemaError` if the schema is newer than this program.
 */
export const migrate = async (
  db: Kysely<Tables>,
  kind: DatabaseKind,
  now: number,
  migrations: readonly Migration[],
): Promise<void> => {
  await db.schema
    .createTable('schema_version')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute();
  const found = await schemaVersion(db);
  if (found > migrations.length) throw new NewerSchemaError(found, migrations.length);
  for (const [index, migration] of [...migrations.entries()].slice(found)) {
    for (const statement of migration(SCHEMA_WORDS[kind])) await sql.raw(statement).execute(db);
    await db
      .insertInto('schema_version')
      .values({ version: index + 1, applied_at: now })
      .execute();
  }
};
