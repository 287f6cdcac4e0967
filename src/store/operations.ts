import { mergeRows } from '../kit/collections/merge-rows.ts';
import { migrationsOf } from './migrations/migrate.ts';
import type { Migration } from './migrations/migration.ts';
import { write, type Operation, type Query } from './operation.ts';
import type { StatusLine, StorePart, TableNotes } from './part.ts';
import { keptStore } from './queries/kept.ts';
import { memoryStore } from './queries/memory.ts';
import type { StoreHooks } from './store-options.ts';
import type { Store } from './store.ts';

/** The parts that belong to no feature. */
const OWN_PARTS: readonly StorePart[] = [memoryStore, keptStore];

export type AnyOperation = Operation<readonly unknown[], unknown>;

/** What a database can do, with the parts of features. */
export interface StoreSchema {
  readonly migrations: readonly Migration[];
  /** Every operation by its name, such as `memory.put`. */
  readonly operations: ReadonlyMap<string, AnyOperation>;
  readonly tables: TableNotes;
  readonly status: Readonly<Record<string, StatusLine>>;
}

export const schemaWith = (features: readonly StorePart[]): StoreSchema => {
  const parts = [...OWN_PARTS, ...features];
  return {
    migrations: migrationsOf(parts),
    operations: new Map([
      ...parts.flatMap(({ name: part, operations }) =>
        Object.entries(operations).map(
          ([name, operation]) => [`${part}.${name}`, operation as AnyOperation] as const,
        ),
      ),
      ['sweep', sweepOf(parts) as unknown as AnyOperation],
    ]),
    tables: mergeRows<TableNotes[string]>(
      {},
      parts.map(({ tables }) => tables),
    ),
    status: mergeRows<StatusLine>(
      {},
      parts.map(({ status = {} }) => status),
    ),
  };
};

const sweepOf = (parts: readonly StorePart[]) =>
  write(async (query: Query, limit: number): Promise<number> => {
    let swept = 0;
    for (const { sweep } of parts) swept += (await sweep?.(query, limit)) ?? 0;
    return swept;
  });

export type RunOperation = (name: string, args: readonly unknown[]) => Promise<unknown>;

/** The methods of a store, each of which runs its operation, and reports how long that took. */
export const methodsOf = (
  { operations }: StoreSchema,
  runOperation: RunOperation,
  { onOperation }: StoreHooks = {},
): Omit<Store, 'kind' | 'watch' | 'close'> => {
  const run = onOperation === undefined ? runOperation : measured(runOperation, onOperation);
  const parts: Record<string, Record<string, unknown>> = {};
  for (const name of operations.keys()) {
    const [part = '', method] = name.split('.');
    if (method === undefined) continue;
    parts[part] = { ...parts[part], [method]: (...args: readonly unknown[]) => run(name, args) };
  }
  return {
    ...(parts as unknown as Pick<Store, 'memory' | 'kept'>),
    sweep: (limit) => run('sweep', [limit]) as Promise<number>,
  };
};

const measured =
  (run: RunOperation, onOperation: NonNullable<StoreHooks['onOperation']>): RunOperation =>
  async (name, args) => {
    const startedAt = performance.now();
    try {
      const result = await run(name, args);
      onOperation(name, performance.now() - startedAt, null);
      return result;
    } catch (error) {
      onOperation(name, performance.now() - startedAt, error);
      throw error;
    }
  };
