import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';

import type { CompiledQuery, Kysely } from 'kysely';
import { Client, Pool, types, type ClientBase, type ClientConfig, type PoolClient } from 'pg';

import { within } from '../../kit/async/wait.ts';
import { kyselyOn, type ExecutionResult } from '../connection-dialect.ts';
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
    // Statements are sent without waiting for the results of those before them.
    pipeline: true,
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

/**
 * Sends statements in one message, as a transaction. They are prepared once for a connection: planning takes longer than
 * running them. So they name their columns: one that selects all of them would fail after a migration.
 */
export const sendTogether = async (
  client: ClientBase,
  statements: readonly CompiledQuery[],
): Promise<readonly ExecutionResult[]> => {
  const stream = streamOf(client);
  stream.cork();
  const begun = client.query('begin');
  const results = statements.map(({ sql: text, parameters }) =>
    client.query({ name: statementName(text), text, values: parameters.map(storable) }),
  );
  const ended = client.query('commit');
  stream.uncork();
  // After one that fails, all others do, and nothing is committed. The first one says why.
  const outcomes = await Promise.allSettled([begun, ...results, ended]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return Promise.all(
    results.map(async (result) => {
      const { rows, rowCount } = await result;
      return { rows, changes: rowCount ?? 0 };
    }),
  );
};

/** Its types lack it. */
const streamOf = (client: ClientBase): Duplex =>
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream;

/** Takes a connection out of its pool that waits for an answer. Its end would wait for that, too. */
export const cutConnection = (client: PoolClient): void => {
  streamOf(client).destroy();
  client.release(true);
};

/** A connection keeps each prepared statement until it ends. */
const MAX_PREPARED = 500;
const statementNames = new Map<string, string>();

/** Made of the text: a pooler may give a connection to this process on which another one has prepared its statements. */
const statementName = (text: string): string => {
  const earlier = statementNames.get(text);
  if (earlier !== undefined || statementNames.size >= MAX_PREPARED) return earlier ?? '';
  const name = createHash('sha256').update(text).digest('base64url');
  statementNames.set(text, name);
  return name;
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
