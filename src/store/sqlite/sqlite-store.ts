import { methodsOf } from '../operations.ts';
import type { Store } from '../store.ts';
import type { StoreOptions } from '../store-options.ts';
import { Watchers } from '../watchers.ts';
import { DatabaseThread } from './database-thread.ts';
import { FILE_VERSION } from './group-commit.ts';

/** Opens the SQLite file of a store. Rejects if it cannot be opened or is newer than this program. */
export const openSqliteStore = async (options: Omit<StoreOptions, 'databaseUrl'>): Promise<Store> => {
  const watchers = new Watchers();
  const thread = new DatabaseThread({
    module: options.thread,
    file: options.file,
    keys: options.keys,
    timeoutMs: options.timeoutMs,
    sync: options.sync ?? 'full',
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
    const operation = options.schema.operations.get(name);
    if (operation === undefined) return result;
    for (const id of operation.changed(result, ...args)) watchers.wake(id, operation.change);
    return result;
  };
  const polling = pollFile(thread, watchers);
  return {
    kind: 'sqlite',
    ...methodsOf(options.schema, run, options),
    watch: (onChange) => watchers.add(onChange),
    async close() {
      clearInterval(polling);
      await thread.close();
    },
  };
};

/** Another process does not say what it has changed in the file. */
const POLL_MS = 500;

/** Wakes watchers after another process has written to the file. */
const pollFile = (thread: DatabaseThread, watchers: Watchers): NodeJS.Timeout => {
  let last: unknown = null;
  let isPolling = false;
  const poll = async (): Promise<void> => {
    const version = await thread.run(FILE_VERSION, []).catch(() => null);
    if (last !== null && version !== null && version !== last) watchers.wake('*', 'status');
    last = version;
    isPolling = false;
  };
  const timer = setInterval(() => {
    if (isPolling || watchers.isEmpty) return;
    isPolling = true;
    void poll();
  }, POLL_MS);
  return timer.unref();
};
