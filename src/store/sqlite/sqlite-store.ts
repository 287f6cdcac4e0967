import { methodsOf, OPERATIONS } from '../operations.ts';
import type { Store } from '../store.ts';
import type { StoreOptions } from '../store-options.ts';
import { changeBy, Watchers } from '../watchers.ts';
import { DatabaseThread } from './database-thread.ts';

/** Opens the SQLite file of a store. Rejects if it cannot be opened or is newer than this program. */
export const openSqliteStore = async (options: Omit<StoreOptions, 'databaseUrl'>): Promise<Store> => {
  const watchers = new Watchers();
  const thread = new DatabaseThread({
    file: options.file,
    keys: options.keys,
    timeoutMs: options.timeoutMs,
    now: () => options.clock.now(),
    onLost: (reason) => options.onChange?.({ kind: 'lost', reason }),
    onBack() {
      options.onChange?.({ kind: 'back' });
      watchers.wake('*', 'status');
    },
  });
  await thread.open();
  const run = async (name: string, args: readonly unknown[]): Promise<unknown> => {
    const result = await thread.run(name, args);
    const responseId = OPERATIONS.get(name)?.changed(result, ...args) ?? null;
    if (responseId !== null) watchers.wake(responseId, changeBy(name));
    return result;
  };
  return {
    kind: 'sqlite',
    ...methodsOf(run),
    watch: (onChange) => watchers.add(onChange),
    close: () => thread.close(),
  };
};
