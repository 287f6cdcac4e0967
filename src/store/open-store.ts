import { openPostgresStore } from './postgres/postgres-store.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { StoreOptions } from './store-options.ts';
import type { Store } from './store.ts';

/** Opens the database that is configured, and brings its schema up to date. Rejects with the reason if it cannot. */
export const openDatabase = (options: StoreOptions): Promise<Store> => {
  const { databaseUrl } = options;
  return databaseUrl === null ? openSqliteStore(options) : openPostgresStore({ ...options, databaseUrl });
};
