import { schemaWith } from '../store/operations.ts';
import { openStore as openDatabase } from '../store/open-store.ts';
import type { StoreOptions } from '../store/store-options.ts';
import type { Store } from '../store/store.ts';
import { besideModule } from '../threads/thread-pool.ts';
import { FEATURES } from './features.ts';

/** What a database can do: its own operations and those of the features. */
export const STORE_SCHEMA = schemaWith(FEATURES.flatMap(({ store = [] }) => store));

/** Opens a database with the tables of the features. Rejects with the reason if it cannot. */
export const openStore = (options: Omit<StoreOptions, 'schema' | 'thread'>): Promise<Store> =>
  openDatabase({
    ...options,
    schema: STORE_SCHEMA,
    thread: besideModule(import.meta.url, 'sqlite-thread'),
  });
