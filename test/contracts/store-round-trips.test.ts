import { afterAll, beforeAll, expect, it } from 'vitest';

import { openStore } from '../../src/compose/open-store.ts';
import { limitStore, type LimitStore } from '../../src/features/keys/limit-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { StateStore } from '../../src/features/state/store/port.ts';
import { partOf } from '../../src/store/part.ts';
import { startForwarder, type Forwarder } from '../support/pausable-forwarder.ts';
import { sharedPostgres } from '../support/postgres.ts';

/** What a request waits for with PostgreSQL is the network, so the operations on its path make one round trip. */

const NOW = 1_000;
const LATER = 100_000;

let forwarder: Forwarder;
let store: StateStore;
let limits: LimitStore;
beforeAll(async () => {
  const url = new URL(await (await sharedPostgres()).createDatabase());
  forwarder = await startForwarder(Number(url.port));
  url.port = String(forwarder.port);
  const options = { databaseUrl: url.href, file: '', keys: [], timeoutMs: 30_000, clock: { now: () => NOW } };
  store = stateStoreOf(await openStore(options));
  limits = partOf(store, limitStore);
  // The first operation connects.
  await store.kept.bytes('alice');
});
afterAll(async () => {
  await store.close();
  await forwarder.close();
});

/** The round trips of one operation after the other. */
const tripsOf = async (...steps: readonly (() => Promise<unknown>)[]): Promise<readonly number[]> => {
  const trips: number[] = [];
  for (const step of steps) {
    const before = forwarder.roundTrips;
    await step();
    trips.push(forwarder.roundTrips - before);
  }
  return trips;
};

it('a key with five limits makes one before the model and one after it', async () => {
  const reservation = (id: string) => ({
    id,
    keyId: 'k',
    expiresAt: LATER,
    limits: ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      name,
      max: 10,
      amount: 3,
      resetsAt: LATER,
      lengthMs: LATER,
    })),
  });
  const reserve = async (id: string) => {
    const reserved = await limits.reserve(reservation(id));
    return reserved.isReserved ? reserved.receipt : undefined;
  };
  // The first use of a limit makes its counter.
  const first = (await reserve('first'))!;
  let second = first;
  expect(
    await tripsOf(
      async () => (second = (await reserve('second'))!),
      () => limits.settle('first', { a: 1, b: 2, c: 0, d: 9 }, first),
      () => limits.giveBack('second', second),
      () =>
        limits.reserve({
          ...reservation('third'),
          limits: reservation('third').limits.map((one) => ({ ...one, amount: 4 })),
        }),
    ),
  ).toEqual([1, 1, 1, 1]);
  const used = [...(await limits.status('k')).values()].map((window) => window.used);
  expect(used).toEqual([1, 2, 0, 9, 3]);
});
