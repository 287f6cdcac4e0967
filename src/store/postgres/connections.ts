import type { Kysely } from 'kysely';
import { Client, Pool, types, type ClientBase, type ClientConfig } from 'pg';

import { within } from '../../kit/async/wait.ts';
import { kyselyOn } from '../connection-dialect.ts';
import type { Tables } from '../tables.ts';

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** For a statement, and for a connection unless that has a limit of its own. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs?: number;
}

/** How many operations run at once. Others wait. */
export const POOL_SIZE = 10;
const IDLE_MS = 60_000;

const INT8 = 20;

/** The server ends what this process does not wait for any more, and transactions of a process that hangs. */
const configOf = ({
  databaseUrl,
  timeoutMs,
  connectTimeoutMs = timeoutMs,
}: PostgresOptions): ClientConfig => ({
  connectionString: databaseUrl,
  application_name: 'codex-app-server-proxy',
  keepAlive: true,
  connectionTimeoutMillis: connectTimeoutMs,
  statement_timeout: timeoutMs,
  lock_timeout: timeoutMs,
  idle_in_transaction_session_timeout: 2 * timeoutMs,
  types: {
    // No number here is above 2 ** 53.
    getTypeParser: ((oid: number, format: never) =>
      oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
  },
});

export const createConnectionPool = (options: PostgresOptions): Pool => {
  const pool = new Pool({
    ...configOf(options),
    max: POOL_SIZE,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
  });
  // An idle connection broke: the pool makes another one when it needs it.
  pool.on('error', () => undefined);
  // One in use broke: its query fails, too.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
};

export const createClient = (options: PostgresOptions): Client => new Client(configOf(options));

const known = new WeakMap<ClientBase, Kysely<Tables>>();

/** Kysely on a connection. */
export const kyselyOf = (client: ClientBase): Kysely<Tables> => {
  const made =
    known.get(client) ??
    kyselyOn('postgres', async (text, parameters) => {
      const { rows, rowCount } = await client.query(text, parameters.map(storable));
      return { rows, changes: rowCount ?? 0 };
    });
  known.set(client, made);
  return made;
};

/** PostgreSQL rejects NUL. Contents have none (`Seal`), and no id has one: an id of a client that does is unknown. */
const storable = (value: unknown): unknown =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\u{FFFD}') : value;

/** For the good-bye of a connection. A server that hangs is not waited for. */
const END_TIMEOUT_MS = 2_000;

/** Ends connections. The process stays alive meanwhile, which an idle connection does not achieve. Never rejects. */
export const endConnections = async (connections: Client | Pool): Promise<void> => {
  await within(
    connections.end().catch(() => undefined),
    END_TIMEOUT_MS,
  );
};
