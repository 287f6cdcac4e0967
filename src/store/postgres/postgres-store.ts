import { sql, type CompiledQuery, type Kysely } from 'kysely';

import { Slots } from '../../kit/async/limiter.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import { migrate, NewerSchemaError } from '../migrations/migrate.ts';
import { keyOf } from '../operation.ts';
import { methodsOf, type StoreSchema } from '../operations.ts';
import { checkStoreKey, WrongStoreKeyError } from '../key-check.ts';
import { createSeal, type Seal } from '../seal.ts';
import { unavailable, unexpected } from '../store-errors.ts';
import type { StoreOptions } from '../store-options.ts';
import type { ResponseChange, Store } from '../store.ts';
import type { Tables } from '../tables.ts';
import { Watchers } from '../watchers.ts';
import {
  createClient,
  createConnectionPool,
  endConnections,
  kyselyOf,
  POOL_SIZE,
  type PostgresOptions,
} from './connections.ts';
import { NotificationListener } from './listener.ts';
import { fromPostgresError } from './postgres-errors.ts';
import { transact } from './transactions.ts';

const CHANNEL = 'codex_app_server_proxy';
/** Any number that no other program uses for its own lock. */
const MIGRATION_LOCK = 7_236_514_908;
/** For a migration, and the wait for that of another process. */
const MIGRATION_TIMEOUT_MS = 600_000;
/** PostgreSQL rejects longer notifications. */
const MAX_NOTIFICATION_BYTES = 7_999;

/** Opens a PostgreSQL database. Rejects if it cannot be reached or is newer than this program. */
export const openPostgresStore = async (
  options: Omit<StoreOptions, 'databaseUrl' | 'file' | 'thread'> & { readonly databaseUrl: string },
): Promise<Store> => {
  const { databaseUrl, timeoutMs, clock, schema } = options;
  const seal = createSeal(options.keys);
  await migrateDatabase({ databaseUrl, timeoutMs }, schema, seal, clock.now());
  const instance = systemAmbient.ids.mint('store');
  const watchers = new Watchers();
  const pool = createConnectionPool({ databaseUrl, timeoutMs });
  const slots = new Slots(POOL_SIZE);
  const listener = new NotificationListener({
    channel: CHANNEL,
    connect: () => createClient({ databaseUrl, timeoutMs }),
    timeoutMs,
    onNotification(payload) {
      const [from, what, responseId = '*'] = payload.split(' ');
      // Its own watchers know already.
      if (from !== instance) watchers.wake(responseId, what === 'events' || what === 'key' ? what : 'status');
    },
    onLost: (reason) => options.onChange?.({ kind: 'lost', reason }),
    onBack() {
      options.onChange?.({ kind: 'back' });
      watchers.wake('*', 'status');
    },
  });
  await listener.start().catch(async (error: unknown) => {
    await endConnections(pool);
    throw fromPostgresError(error);
  });
  const runNow = async (name: string, args: readonly unknown[]): Promise<unknown> => {
    const operation = schema.operations.get(name);
    if (operation === undefined) throw unexpected(new Error(`the store has no operation ${name}`));
    const now = clock.now();
    const notices = (ids: readonly string[], db: Kysely<Tables>): readonly CompiledQuery[] => {
      const payloads = ids.map((id) => notificationOf(instance, operation.change, id));
      // One text for any number of them.
      const notify = sql`select pg_notify(${CHANNEL}, payload) from unnest(cast(${payloads} as text[])) as payload`;
      return ids.length === 0 ? [] : [notify.compile(db)];
    };
    const { result, changed } = await transact(
      pool,
      { slots, key: keyOf(args), timeoutMs },
      {
        kind: operation.isBatched === true ? 'batch' : operation.isWrite ? 'write' : 'read',
        async run({ db, send, ...attempts }) {
          if (operation.isBatched === true) {
            const ids = operation.changed(null, ...args);
            const remote = {
              ...attempts,
              send: (statements: readonly CompiledQuery[]) => send([...statements, ...notices(ids, db)]),
            };
            return { result: await operation.run({ db, seal, now, remote }, ...args), changed: ids };
          }
          const found = await operation.run({ db, seal, now }, ...args);
          const ids = operation.changed(found, ...args);
          for (const notice of notices(ids, db)) await db.executeQuery(notice);
          return { result: found, changed: ids };
        },
      },
    );
    for (const id of changed) watchers.wake(id, operation.change);
    return result;
  };
  const running = new Set<Promise<unknown>>();
  let isClosed = false;
  const run = async (name: string, args: readonly unknown[]): Promise<unknown> => {
    if (isClosed) throw unavailable('it is closed');
    const doing = runNow(name, args);
    running.add(doing);
    try {
      return await doing;
    } finally {
      running.delete(doing);
    }
  };
  return {
    kind: 'postgres',
    ...methodsOf(schema, run, options),
    watch: (onChange) => watchers.add(onChange),
    async close() {
      isClosed = true;
      // Each has a time limit.
      await Promise.allSettled(running);
      await listener.stop();
      await endConnections(pool);
    },
  };
};

const notificationOf = (instance: string, what: ResponseChange, responseId: string): string => {
  const payload = `${instance} ${what} ${responseId}`;
  return Buffer.byteLength(payload) > MAX_NOTIFICATION_BYTES ? `${instance} ${what} *` : payload;
};

/** Several processes may start at once: one migrates, the others wait for it. */
const migrateDatabase = async (
  options: PostgresOptions,
  { migrations, tables }: StoreSchema,
  seal: Seal,
  now: number,
): Promise<void> => {
  const client = createClient(options);
  // Its errors come from the queries, too.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin');
    await client.query(`set local statement_timeout = ${MIGRATION_TIMEOUT_MS}`);
    await client.query(`set local lock_timeout = ${MIGRATION_TIMEOUT_MS}`);
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await migrate(kyselyOf(client), 'postgres', now, migrations);
    await checkStoreKey(kyselyOf(client), seal, tables);
    await client.query('commit');
  } catch (error) {
    throw error instanceof NewerSchemaError || error instanceof WrongStoreKeyError
      ? error
      : fromPostgresError(error);
  } finally {
    await endConnections(client);
  }
};
