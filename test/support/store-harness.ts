import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

import { afterAll, beforeAll, describe } from 'vitest';

import { sharedPostgres } from './postgres.ts';
import type { Execute } from '../../src/store/connection-dialect.ts';
import { createConnectionPool } from '../../src/store/postgres/connections.ts';
import { openAdmin } from '../../src/store/admin/open-admin.ts';
import { openStore, STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { StoreOptions } from '../../src/store/store-options.ts';
import type { Store } from '../../src/store/store.ts';
import type {
  NewTurn,
  Onto,
  Position,
  ResponseRow,
  StateStore,
} from '../../src/features/state/store/port.ts';

/** A database with a store on it, and a way to look behind the store. */
export interface StoreHarness {
  readonly kind: Store['kind'];
  readonly store: StateStore;
  readonly clock: { time: number; now(): number };
  /** Other rows than those of other tests. */
  newId(prefix: string): string;
  /** Another store on the same database. It is closed with the harness. */
  openAnother(options?: Partial<StoreOptions>): Promise<StateStore>;
  /** The same with another key, although the key of before is lost. */
  openWithoutKey(keys: readonly string[]): Promise<StateStore>;
  /** Runs SQL on the database itself. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export const DAY = 24 * 60 * 60 * 1000;
export const KEYS = ['0a'.repeat(32), '0b'.repeat(32), '0c'.repeat(32)] as const;

/** An empty database. */
export interface Database {
  readonly kind: Store['kind'];
  readonly options: Pick<StoreOptions, 'databaseUrl' | 'file'>;
  readonly sql: StoreHarness['sql'];
  /** For kysely. */
  readonly query: Execute;
  close(): Promise<void>;
}

const sqliteDatabase = (): Promise<Database> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'store-'));
  const file = path.join(directory, 'state.db');
  const query: Execute = (text, parameters) => {
    const database = new DatabaseSync(file, { timeout: 10_000 });
    try {
      const rows = database.prepare(text).all(...(parameters as SQLInputValue[]));
      return { rows: rows.map((row) => ({ ...row })), changes: rows.length };
    } finally {
      database.close();
    }
  };
  return Promise.resolve({
    kind: 'sqlite',
    options: { databaseUrl: null, file },
    query,
    sql: async (text) => (await query(text, [])).rows as readonly Readonly<Record<string, unknown>>[],
    close: () => Promise.resolve(rmSync(directory, { recursive: true, force: true })),
  });
};

const postgresDatabase = async (): Promise<Database> => {
  const databaseUrl = await (await sharedPostgres()).createDatabase();
  const pool = createConnectionPool({ databaseUrl, timeoutMs: 30_000 });
  const query: Execute = async (text, parameters) => {
    const { rows, rowCount } = await pool.query<Readonly<Record<string, unknown>>>(text, [...parameters]);
    return { rows, changes: rowCount ?? 0 };
  };
  return {
    kind: 'postgres',
    options: { databaseUrl, file: '' },
    query,
    sql: async (text) => (await query(text, [])).rows as readonly Readonly<Record<string, unknown>>[],
    close: () => pool.end(),
  };
};

export const openDatabase = (kind: Store['kind']): Promise<Database> => DATABASES[kind]();

const DATABASES: Readonly<Record<Store['kind'], () => Promise<Database>>> = {
  sqlite: sqliteDatabase,
  postgres: postgresDatabase,
};

interface DescribeOptions {
  readonly keys?: readonly string[];
  readonly kinds?: readonly Store['kind'][];
}

/** Runs the tests for every database, with one database for all of them. */
export const describeStores = (
  name: string,
  tests: (harness: () => StoreHarness) => void,
  { keys = [], kinds = ['sqlite', 'postgres'] }: DescribeOptions = {},
): void => {
  describe.each(kinds)(`${name} in %s`, (kind) => {
    let harness: StoreHarness | null = null;
    const closing: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      const database = await openDatabase(kind);
      const clock = { time: Date.now(), now: () => clock.time };
      let count = 0;
      const openAnother = async (options: Partial<StoreOptions> = {}): Promise<StateStore> => {
        const store = stateStoreOf(
          await openStore({ ...database.options, keys, timeoutMs: 30_000, clock, ...options }),
        );
        closing.unshift(() => store.close());
        return store;
      };
      closing.push(() => database.close());
      harness = {
        kind,
        store: await openAnother(),
        clock,
        newId: (prefix) => `${prefix}_${(count += 1)}`,
        openAnother,
        async openWithoutKey(given) {
          const admin = await openAdmin({ ...database.options, keys: given, clock, schema: STORE_SCHEMA });
          await admin?.acceptKey();
          await admin?.close();
          return openAnother({ keys: given });
        },
        sql: (text) => database.sql(text),
      };
    });
    afterAll(async () => {
      for (const close of closing) await close();
    });
    tests(() => {
      if (harness === null) throw new Error('the database is not open yet');
      return harness;
    });
  });
};

/** A turn whose body and items are made from its key. */
export const turnOf = (key: string, different: Partial<NewTurn> = {}): NewTurn => ({
  key,
  body: JSON.stringify([key]),
  itemIds: [`msg_${key}`],
  ...different,
});

export const responseOf = (
  harness: StoreHarness,
  id: string,
  different: Partial<ResponseRow> = {},
): Omit<ResponseRow, 'owner' | 'position'> => ({
  id,
  status: 'completed',
  isBackground: false,
  createdAt: harness.clock.time,
  expiresAt: harness.clock.time + DAY,
  body: JSON.stringify({ id }),
  ...different,
});

export interface Committed {
  readonly key: string;
  readonly responseId: string;
  readonly at: Position;
}

/** Writes a turn with a completed response. */
export const commit = async (
  harness: StoreHarness,
  onto: Onto | Position | null = null,
  owner = 'alice',
): Promise<Committed> => {
  const key = harness.newId('key');
  const responseId = harness.newId('resp');
  const at = await harness.store.turns.commit({
    owner,
    onto: ontoOf(harness, onto),
    turn: turnOf(key),
    response: responseOf(harness, responseId),
    expiresAt: harness.clock.time + DAY,
  });
  if (at === null) throw new Error('the turn was not written');
  return { key, responseId, at };
};

export const ontoOf = (harness: StoreHarness, onto: Onto | Position | null): Onto => {
  const cacheKey = harness.newId('cache');
  if (onto === null) return { kind: 'new', segment: harness.newId('seg'), cacheKey };
  return 'kind' in onto ? onto : { kind: 'after', at: onto, fork: harness.newId('seg'), cacheKey };
};

/** A chain of this many turns; the last one comes last. */
export const commitChain = async (
  harness: StoreHarness,
  length: number,
  from: Position | null = null,
): Promise<readonly Committed[]> => {
  const turns: Committed[] = [];
  for (let at = from; turns.length < length; at = turns.at(-1)?.at ?? null) {
    turns.push(await commit(harness, at));
  }
  return turns;
};
