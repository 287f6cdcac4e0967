import { parentPort, workerData } from 'node:worker_threads';

import { migrate } from '../migrations/migrate.ts';
import type { StoreSchema } from '../operations.ts';
import { checkStoreKey } from '../key-check.ts';
import { createSeal, type Seal } from '../seal.ts';
import { JobLine, runJobs } from './group-commit.ts';
import type { FromThread, SqliteThreadSettings, ToThread } from './protocol.ts';
import { openSqliteFile, type SqliteFile } from './sqlite-file.ts';

const say = (message: FromThread): void => parentPort?.postMessage(message);

const openFile = async (
  { file: name, busyMs, sync, now }: SqliteThreadSettings,
  { migrations, tables }: StoreSchema,
  seal: Seal,
): Promise<SqliteFile> => {
  const file = openSqliteFile(name, { busyMs, sync });
  file.exec('begin immediate');
  try {
    await migrate(file.db, 'sqlite', now, migrations);
    await checkStoreKey(file.db, seal, tables);
    file.exec('commit');
  } catch (error) {
    if (file.isInTransaction) file.exec('rollback');
    file.close();
    throw error;
  }
  return file;
};

const serve = (file: SqliteFile, { operations }: StoreSchema, seal: Seal): void => {
  const waiting = new JobLine(operations);
  let isRunning = false;
  let isClosing = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    for (let jobs = waiting.next(); jobs.length > 0; jobs = waiting.next()) {
      await runJobs(jobs, operations, file, seal, (id, outcome) => say({ kind: 'ended', id, ...outcome }));
      // Lets the messages in that came in the meantime.
      await new Promise((resolve) => setImmediate(resolve));
    }
    isRunning = false;
    if (isClosing) {
      file.close();
      parentPort?.close();
    }
  };
  parentPort?.on('message', (message: ToThread) => {
    if (message.kind === 'run') waiting.add(message);
    else isClosing = true;
    if (isRunning) return;
    isRunning = true;
    // The messages that wait already are read before this.
    setImmediate(() => void run());
  });
};

/**
 * Opens the SQLite file and runs the operations of the main thread on it. For a thread of its own: writing 5 MB takes 40 ms,
 * in which no other request could be served.
 */
export const serveFile = async (schema: StoreSchema): Promise<void> => {
  const settings = workerData as SqliteThreadSettings;
  try {
    const seal = createSeal(settings.keys);
    serve(await openFile(settings, schema, seal), schema, seal);
    say({ kind: 'ready' });
  } catch (error) {
    say({ kind: 'failed-to-open', message: error instanceof Error ? error.message : String(error) });
    parentPort?.close();
  }
};
