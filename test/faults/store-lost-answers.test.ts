import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';

import { openStore } from '../../src/compose/open-store.ts';
import { limitStore, type LimitStore } from '../../src/features/keys/limit-store.ts';
import { partOf } from '../../src/store/part.ts';
import type { Store } from '../../src/store/store.ts';
import { startForwarder, type Forwarder } from '../support/pausable-forwarder.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

/** A server of PostgreSQL goes on with what it was sent, also if no one learns how it ended. */

const NOW = 1_000;
const LATER = 100_000;

let forwarder: Forwarder;
/** Directly, and by way of the forwarder. */
let [direct, forwarded] = ['', ''];
const stores: Store[] = [];
beforeAll(async () => {
  direct = await (await sharedPostgres()).createDatabase();
  const url = new URL(direct);
  forwarder = await startForwarder(Number(url.port));
  url.port = String(forwarder.port);
  forwarded = url.href;
});
afterEach(async () => {
  forwarder.resume();
  for (const store of stores.splice(0)) await store.close();
});
afterAll(() => forwarder.close());

const open = async (databaseUrl: string, timeoutMs = 30_000): Promise<Store> => {
  const store = await openStore({ databaseUrl, file: '', keys: [], timeoutMs, clock: { now: () => NOW } });
  stores.push(store);
  return store;
};

const reservation = (keyId: string, id: string) => ({
  id,
  keyId,
  expiresAt: LATER,
  limits: [{ name: 'a', max: 100, amount: 30, resetsAt: LATER, lengthMs: LATER }],
});

const usedOf = async (limits: LimitStore, keyId: string): Promise<number | undefined> =>
  (await limits.status(keyId)).get('a')?.used;

it('a reservation that was given back, because no answer came in time, is not written later', async () => {
  const limits = partOf(await open(forwarded, 1_000), limitStore);
  const other = partOf(await open(direct), limitStore);
  await limits.reserve(reservation('late', 'first'));
  const before = forwarder.open;
  forwarder.pause();
  await expect(limits.reserve(reservation('late', 'second'))).rejects.toThrow('did not answer');
  await other.giveBack('second');
  forwarder.resume();
  // The server reads what it was sent, and then that the connection has ended.
  await until(() => forwarder.open < before);
  expect(await usedOf(other, 'late')).toBe(30);
});
