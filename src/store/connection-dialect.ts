import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  type SelectModifierNode,
} from 'kysely';

import type { DatabaseKind } from './migrations/migration.ts';
import type { Tables } from './tables.ts';

export type Execute = (
  sql: string,
  parameters: readonly unknown[],
) => Promise<ExecutionResult> | ExecutionResult;

export interface ExecutionResult {
  readonly rows: readonly unknown[];
  /** How many rows were written. */
  readonly changes: number;
}

/** Kysely on one connection. The caller begins and ends transactions. */
export const kyselyOn = (kind: DatabaseKind, execute: Execute): Kysely<Tables> => {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const { rows, changes } = await execute(sql, parameters);
      return { rows: rows as Row[], numAffectedRows: BigInt(changes) };
    },
    streamQuery: notUsed,
  };
  const driver: Driver = {
    init: done,
    acquireConnection: () => Promise.resolve(connection),
    beginTransaction: notUsed,
    commitTransaction: notUsed,
    rollbackTransaction: notUsed,
    releaseConnection: done,
    destroy: done,
  };
  return new Kysely<Tables>({ dialect: { ...PARTS[kind], createDriver: () => driver } });
};

const done = (): Promise<void> => Promise.resolve();

const notUsed = (): never => {
  throw new Error('transactions and streams are not made through kysely');
};

/** A write of SQLite has the database for itself: there is nothing to lock. */
class SqliteWithoutLocks extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier !== 'ForUpdate') super.visitSelectModifier(node);
  }
}

const PARTS = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteWithoutLocks(),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  },
};
