import { sql, type Kysely } from 'kysely';

import type { Tables } from '../tables.ts';
import { SCHEMA_WORDS, type DatabaseKind, type Migration } from './migration.ts';

/** The parts that share a version from before the store had parts. */
const SHARED: Readonly<Record<number, readonly string[]>> = { 1: ['memory', 'turns'], 7: ['kept', 'turns'] };

interface VersionedPart {
  readonly name: string;
  readonly migrations: Readonly<Record<number, Migration>>;
}

/** All changes of the schema; the first makes version 1. Throws if a version is missing or taken twice. */
export const migrationsOf = (parts: readonly VersionedPart[]): readonly Migration[] => {
  const byVersion = Map.groupBy(
    parts.flatMap(({ name, migrations }) =>
      Object.entries(migrations).map(([version, migration]) => ({
        name,
        version: Number(version),
        migration,
      })),
    ),
    ({ version }) => version,
  );
  return [...byVersion]
    .toSorted(([one], [other]) => one - other)
    .map(([version, taken], index) => {
      const names = taken.map(({ name }) => name).join(' ');
      const isTaken = taken.length > 1 && names !== SHARED[version]?.join(' ');
      if (version !== index + 1 || isTaken)
        throw new Error(
          `Migration ${version} is not the next one: ${index + 1} is free, or a number is taken twice.`,
        );
      return (words) => taken.flatMap(({ migration }) => migration(words));
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
