import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

import type { Kysely } from 'kysely';

import { kyselyOn } from '../connection-dialect.ts';
import type { StoreSync } from '../store-options.ts';
import type { Tables } from '../tables.ts';

/** A SQLite file on this thread. */
export interface SqliteFile {
  readonly db: Kysely<Tables>;
  /** For statements without parameters and results. */
  exec(sql: string): void;
  /** Whether the next transactions wait until the disk has them. Relaxed, or with `normal`: a power cut may undo them. */
  relax(isRelaxed: boolean): void;
  /** False: an error of SQLite has ended the transaction. */
  readonly isInTransaction: boolean;
  close(): void;
}

/** More than there are different statements: lists of values come in few lengths. */
const MAX_STATEMENTS = 500;

/**
 * With `synchronous = full`, what was committed survives a power cut. A WAL that grew is cut to 64 MB. Deleted content is
 * overwritten where that needs no other page.
 */
const PRAGMAS = `
  pragma journal_mode = wal;
  pragma journal_size_limit = 67108864;
  pragma secure_delete = fast;
  pragma temp_store = memory;
  pragma cache_size = -16384;
`;

export interface SqliteFileOptions {
  /** How long it waits for another process. */
  readonly busyMs: number;
  /** It must exist, and its settings are not changed. */
  readonly isExisting?: boolean;
  /** `full` by default. */
  readonly sync?: StoreSync;
}

/** Opens a file, and makes it for its owner alone if it does not exist. */
export const openSqliteFile = (
  file: string,
  { busyMs, isExisting = false, sync = 'full' }: SqliteFileOptions,
): SqliteFile => {
  // SQLite gives the files of its log the same mode.
  if (!isExisting) {
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  }
  const database = new DatabaseSync(file, { timeout: busyMs });
  if (!isExisting) database.exec(`${PRAGMAS} pragma synchronous = ${sync};`);
  const prepare = cachedStatements(database);
  let isRelaxedNow = false;
  return {
    db: kyselyOn('sqlite', (sql, parameters) => {
      const { statement, hasRows } = prepare(sql);
      const values = parameters as SQLInputValue[];
      if (hasRows) {
        const rows = statement.all(...values);
        return { rows, changes: rows.length };
      }
      return { rows: [], changes: Number(statement.run(...values).changes) };
    }),
    exec: (sql) => database.exec(sql),
    relax(isRelaxed) {
      if (isRelaxed !== isRelaxedNow) database.exec(`pragma synchronous = ${isRelaxed ? 'normal' : sync}`);
      isRelaxedNow = isRelaxed;
    },
    get isInTransaction() {
      return database.isTransaction;
    },
    close: () => database.close(),
  };
};

interface PreparedStatement {
  readonly statement: StatementSync;
  readonly hasRows: boolean;
}

const cachedStatements = (database: DatabaseSync): ((sql: string) => PreparedStatement) => {
  const cache = new Map<string, PreparedStatement>();
  return (sql) => {
    const known = cache.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    const prepared = { statement, hasRows: statement.columns().length > 0 };
    cache.set(sql, prepared);
    const [oldest] = cache.keys();
    if (cache.size > MAX_STATEMENTS && oldest !== undefined) cache.delete(oldest);
    return prepared;
  };
};
