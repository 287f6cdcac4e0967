import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';

import { openStore } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { StoreChange, StoreOptions } from '../../src/store/store-options.ts';
import type { Store } from '../../src/store/store.ts';
import { startForwarder, type Forwarder } from '../support/pausable-forwarder.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';

let server: PostgresServer;
let forwarder: Forwarder;
/** Directly, and by way of the forwarder. */
let [direct, forwarded] = ['', ''];
const stores: Store[] = [];
beforeAll(async () => {
  server = await startPostgres();
  direct = await server.createDatabase();
  const url = new URL(direct);
  forwarder = await startForwarder(Number(url.port));
  url.port = String(forwarder.port);
  forwarded = url.href;
});
afterEach(async () => {
  forwarder.resume();
  for (const store of stores.splice(0)) await store.close();
});
afterAll(async () => {
  await forwarder.close();
  await server.stop();
});

const open = async (databaseUrl: string, different: Partial<StoreOptions> = {}): Promise<Store> => {
  const store = await openStore({
    databaseUrl,
    file: '',
    keys: [],
    timeoutMs: 20_000,
    clock: { now: () => 1_000 },
    ...different,
  });
  stores.push(store);
  return store;
};

const put = (store: Store, key: string): Promise<void> => store.memory.put('reasoning', key, 'x', 2_000);

const keysIn = async (store: Store, keys: readonly string[]): Promise<readonly string[]> =>
  [...(await store.memory.get('reasoning', keys)).keys()].toSorted(
    (one, other) => keys.indexOf(one) - keys.indexOf(other),
  );

const failureOf = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    () => null,
    (error: { readonly failure?: { readonly kind: string; readonly message: string } }) =>
      error.failure === undefined ? error : `${error.failure.kind}: ${error.failure.message}`,
  );

const unavailable = (reason: string): string =>
  `store_unavailable: The database of this server is unavailable: ${reason}.`;

/** Runs SQL as an operator would. */
const admin = async (sql: string): Promise<void> => {
  const client = new Client({ connectionString: direct });
  await client.connect();
  await client.query(sql);
  await client.end();
};

const CUT_ALL =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'codex-app-server-proxy'";

describe('a database', () => {
  it('that restarts is not noticed by requests that can wait for it', async () => {
    const changes: StoreChange['kind'][] = [];
    const woken: string[] = [];
    const store = await open(direct, { onChange: ({ kind }) => void changes.push(kind) });
    store.watch((id) => void woken.push(id));
    await put(store, 'a');
    await server.stop();
    const waiting = Promise.all(['b', 'c', 'd'].map((key) => put(store, key)));
    await server.start();
    await waiting;
    expect(new Set(await keysIn(store, ['a', 'b', 'c', 'd']))).toEqual(new Set(['a', 'b', 'c', 'd']));
    await expect.poll(() => changes, { timeout: 20_000 }).toEqual(['lost', 'back']);
    expect(woken).toEqual(['*']);
    // It listens again.
    const other = await open(direct);
    await stateStoreOf(other).events.append('alice', 'resp_after', { first: 0, last: 0, body: '' }, 2_000);
    await expect.poll(() => woken).toEqual(['*', 'resp_after']);
  });

  it('that is gone fails requests in time, with the reason, and is used when it is back', async () => {
    const store = await open(direct, { timeoutMs: 1_500 });
    await put(store, 'before');
    await server.stop();
    expect(await failureOf(put(store, 'lost'))).toBe(unavailable('it cannot be reached (ECONNREFUSED)'));
    expect(await failureOf(open(direct, { timeoutMs: 1_000 }))).toBe(
      unavailable('it cannot be reached (ECONNREFUSED)'),
    );
    await server.start();
    await expect.poll(() => failureOf(put(store, 'after')), { timeout: 20_000 }).toBe(null);
    expect(await keysIn(store, ['before', 'lost', 'after'])).toEqual(['before', 'after']);
  });

  it('that cuts connections again and again loses nothing', async () => {
    const store = await open(direct);
    const keys = Array.from({ length: 200 }, (_, index) => `cut${index}`);
    const written: string[] = [];
    const failed: unknown[] = [];
    const writing = keys.map(async (key) => {
      const failure = await failureOf(put(store, key));
      if (failure === null) written.push(key);
      else failed.push(failure);
    });
    for (let times = 0; times < 5; times += 1) await admin(CUT_ALL);
    await Promise.all(writing);
    // Only what was cut during its commit may fail: no one knows whether it happened.
    expect(failed.filter((failure) => !String(failure).startsWith('store_unavailable: '))).toEqual([]);
    expect(written.length).toBeGreaterThan(100);
    expect(new Set(await keysIn(store, written))).toEqual(new Set(written));
  });

  it('that does not answer fails requests in time, and keeps none of its connections', async () => {
    const store = await open(forwarded, { timeoutMs: 2_000 });
    await put(store, 'a');
    forwarder.pause();
    const failures = await Promise.all(
      Array.from({ length: 30 }, (_, index) => failureOf(put(store, `slow${index}`))),
    );
    expect(failures.filter((failure) => !String(failure).startsWith('store_unavailable: '))).toEqual([]);
    expect(failures).toContain(unavailable('it did not answer within 2000 ms'));
    forwarder.resume();
    await expect.poll(() => failureOf(put(store, 'b')), { timeout: 20_000 }).toBe(null);
    // Connections that hang would be missing for as long as they are kept.
    const again = (): Promise<readonly unknown[]> =>
      Promise.all(Array.from({ length: 30 }, (_, index) => failureOf(put(store, `fast${index}`))));
    await expect.poll(again, { timeout: 20_000 }).toEqual(Array.from({ length: 30 }, () => null));
  });

  it('that waits for a lock fails requests in time', async () => {
    const store = await open(direct, { timeoutMs: 1_000 });
    const client = new Client({ connectionString: direct });
    await client.connect();
    await client.query('begin');
    await client.query('lock table memory in exclusive mode');
    expect(await failureOf(put(store, 'locked'))).toMatch(/^store_unavailable: /);
    await client.query('rollback');
    await client.end();
    expect(await failureOf(put(store, 'free'))).toBe(null);
  });

  it('that is read-only says so', async () => {
    await open(direct);
    const name = new URL(direct).pathname.slice(1);
    await admin(`alter database ${name} set default_transaction_read_only = on`);
    try {
      const client = new Client({ connectionString: direct });
      await client.connect();
      await client.query('set default_transaction_read_only = off');
      await client.end();
      const store = stores.at(-1)!;
      await admin(CUT_ALL);
      await expect
        .poll(() => failureOf(put(store, 'x')), { timeout: 20_000 })
        .toBe(unavailable('it cannot be written'));
      expect(await keysIn(store, ['x'])).toEqual([]);
    } finally {
      const client = new Client({ connectionString: direct });
      await client.connect();
      await client.query('set default_transaction_read_only = off');
      await client.query(`alter database ${name} reset default_transaction_read_only`);
      await client.end();
    }
  });

  it('that refuses the login says so', async () => {
    const wrong = new URL(direct);
    wrong.password = 'hunter2';
    expect(await failureOf(open(wrong.href))).toBe(
      unavailable('it rejects the password of PROXY_DATABASE_URL'),
    );
    const missing = new URL(direct);
    missing.pathname = '/no_such_database';
    expect(await failureOf(open(missing.href))).toBe(
      unavailable('the database of PROXY_DATABASE_URL does not exist'),
    );
  });
});

describe('a store that is closed', () => {
  it('ends the operations that run, and takes no others', async () => {
    const store = await open(direct);
    const keys = Array.from({ length: 50 }, (_, index) => `close${index}`);
    const running = keys.map((key) => failureOf(put(store, key)));
    await store.close();
    expect(await Promise.all(running)).toEqual(keys.map(() => null));
    expect(await failureOf(put(store, 'late'))).toBe(unavailable('it is closed'));
    expect(await keysIn(await open(direct), keys)).toEqual(keys);
  });

  it('does not wait for a database that does not answer', async () => {
    const store = await open(forwarded, { timeoutMs: 1_000 });
    forwarder.pause();
    await store.close();
    expect(await failureOf(put(store, 'late'))).toBe(unavailable('it is closed'));
  });
});
