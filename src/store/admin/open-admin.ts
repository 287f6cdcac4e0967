import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

import { sql } from 'kysely';

import { besideModule } from '../../threads/thread-pool.ts';
import { shellQuoted } from '../../kit/text/display.ts';
import { createClient, endConnections, kyselyOf } from '../postgres/connections.ts';
import { fromPostgresError } from '../postgres/postgres-errors.ts';
import { openSqliteFile, type SqliteFile } from '../sqlite/sqlite-file.ts';
import type { DatabaseOptions } from '../store-options.ts';
import type { AdminWork } from './admin-thread.ts';
import { acceptStoreKey } from '../key-check.ts';
import { createSeal } from '../seal.ts';
import { readStatus, type StoreStatus } from './store-status.ts';

/** What an operator does with a database while the server may run. */
export interface StoreAdmin {
  status(): Promise<StoreStatus>;
  /**
   * Copies the database into a new file. Null: done. A text: the command that does it. `onProgress` gets the bytes of the
   * copy so far, and about how many there will be.
   */
  backup(file: string, onProgress: (bytes: number, total: number) => void): Promise<string | null>;
  /** From now on servers with the current PROXY_STORE_KEY can start, although the key of before is lost. */
  acceptKey(): Promise<void>;
  /** Gives back the space of deleted rows. */
  vacuum(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the database that is configured, as it is: nothing is made or migrated. Null: there is none yet. */
export const openAdmin = async (options: DatabaseOptions): Promise<StoreAdmin | null> => {
  if (options.databaseUrl !== null) return openPostgres(options, options.databaseUrl);
  return existsSync(options.file) ? openSqlite(options) : null;
};

/** For the wait until the server has ended a transaction. */
const BUSY_MS = 30_000;
/** Counting and compacting a large database takes its time. */
const ADMIN_TIMEOUT_MS = 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** How often the size of a copy is read. */
const LOOK_EVERY_MS = 250;

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

const openSqlite = ({ file, keys, clock, schema }: DatabaseOptions): StoreAdmin => {
  const database = openSqliteFile(file, { busyMs: BUSY_MS, isExisting: true });
  return {
    status: () =>
      readStatus(
        database.db,
        { kind: 'sqlite', place: file, bytes: sizeOf(file) + sizeOf(`${file}-wal`) },
        { keys, now: clock.now(), schema },
      ),
    async backup(target, onProgress) {
      // For its owner alone. SQLite writes only into a file that is empty.
      closeSync(openSync(target, 'wx', 0o600));
      const total = await usedBytes(database);
      const timer = setInterval(() => onProgress(Math.min(sizeOf(target), total), total), LOOK_EVERY_MS);
      try {
        await inThread(file, [`vacuum into '${target.replaceAll("'", "''")}'`]);
      } catch (error) {
        rmSync(target, { force: true });
        throw error;
      } finally {
        clearInterval(timer);
      }
      onProgress(sizeOf(target), sizeOf(target));
      return null;
    },
    acceptKey: () => acceptStoreKey(database.db, createSeal(keys)),
    vacuum: () => inThread(file, ['vacuum', 'pragma wal_checkpoint(truncate)']),
    close: () => Promise.resolve(database.close()),
  };
};

/** The bytes of a copy without free pages. */
const usedBytes = async ({ db }: SqliteFile): Promise<number> => {
  const { rows } = await sql<{
    readonly bytes: number;
  }>`select (page_count - freelist_count) * page_size as bytes
    from pragma_page_count, pragma_freelist_count, pragma_page_size`.execute(db);
  return rows[0]?.bytes ?? 0;
};

/** Runs statements that would block this thread. */
const inThread = (file: string, statements: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(besideModule(import.meta.url, 'admin-thread'), {
      workerData: { file, busyMs: BUSY_MS, statements } satisfies AdminWork,
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });

const openPostgres = async (
  { keys, clock, schema }: DatabaseOptions,
  databaseUrl: string,
): Promise<StoreAdmin> => {
  const client = createClient({
    databaseUrl,
    timeoutMs: ADMIN_TIMEOUT_MS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  // Its errors come from the queries, too.
  client.on('error', () => undefined);
  await client.connect().catch((error: unknown) => {
    throw fromPostgresError(error);
  });
  const db = kyselyOf(client);
  const place = withoutPassword(databaseUrl);
  return {
    async status() {
      const { rows } = await sql<{
        readonly bytes: number;
      }>`select pg_database_size(current_database()) as bytes`.execute(db);
      return readStatus(
        db,
        { kind: 'postgres', place, bytes: rows[0]?.bytes ?? 0 },
        { keys, now: clock.now(), schema },
      );
    },
    backup: (target) =>
      Promise.resolve(
        ['pg_dump', '--format=custom', `--file=${target}`, place]
          .map((word) => shellQuoted(word, process.platform))
          .join(' '),
      ),
    acceptKey: () => acceptStoreKey(db, createSeal(keys)),
    async vacuum() {
      await client.query('vacuum (analyze)');
    },
    close: () => endConnections(client),
  };
};

const withoutPassword = (databaseUrl: string): string => {
  const url = new URL(databaseUrl);
  url.password = '';
  url.searchParams.delete('password');
  return url.href;
};
