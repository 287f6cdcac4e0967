import { afterAll, beforeAll, expect, it } from 'vitest';

import { openStore } from '../../src/compose/open-store.ts';
import { limitStore, type LimitStore } from '../../src/features/keys/limit-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { Onto, StateStore } from '../../src/features/state/store/port.ts';
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

it('what else a request writes makes one', async () => {
  const copyOf = (responseId: string) => ({
    owner: 'alice',
    responseId,
    count: 1,
    body: 'x',
    expiresAt: LATER,
  });
  const chat = { id: 'chat_1', owner: 'alice', model: 'm', createdAt: NOW, expiresAt: LATER };
  expect(
    await tripsOf(
      () => store.chats.add({ ...chat, metadata: { a: 'b' }, body: '{}', messages: '[]' }),
      () => store.events.append('alice', 'resp_1', { first: 0, last: 3, body: 'events' }, LATER),
      () => store.events.copy(['resp_2', 'resp_3'].map(copyOf)),
      () => store.memory.put('reasoning', 'key', 'value', LATER),
      () => store.memory.claim('cache-id', 'key', 'value', LATER),
    ),
  ).toEqual([1, 1, 1, 1, 1]);
  // Any other write waits for its statements, and for its end.
  expect(await tripsOf(() => store.events.expire('resp_1', LATER))).toEqual([2]);
});

it('an answer that is stored makes one, wherever it goes', async () => {
  const response = (id: string, isBackground = false) =>
    ({ id, status: 'completed', isBackground, createdAt: NOW, expiresAt: LATER, body: '{}' }) as const;
  const turn = (key: string) => ({ key, body: `["${key}"]`, itemIds: [`msg_${key}`] });
  const write = (key: string, onto: Onto, more = response(`resp_${key}`)) =>
    store.turns.commit({ owner: 'alice', onto, turn: turn(key), response: more, expiresAt: LATER });
  const after = (pos: number) =>
    ({ kind: 'after', at: { segment: 'seg', pos }, fork: `fork${pos}`, cacheKey: 'c' }) as const;
  const running = response('resp_background', true);
  await store.responses.add(
    { ...running, owner: 'alice', status: 'in_progress' },
    { instance: 'i', beat: 0 },
  );
  await store.conversations.create({
    id: 'conv_1',
    owner: 'alice',
    createdAt: NOW,
    expiresAt: LATER,
    body: '{}',
    cacheKey: 'c',
    turn: null,
  });
  const conversation = { kind: 'conversation', id: 'conv_1' } as const;
  expect(
    await tripsOf(
      () => write('a', { kind: 'new', segment: 'seg', cacheKey: 'c' }),
      () => write('b', after(0)),
      () => write('c', after(1), running),
      () => write('d', { ...conversation, tip: -1 }),
      // The first one finds that the place is taken.
      () => write('e', after(0)),
      () => write('f', { ...conversation, tip: -1 }),
    ),
  ).toEqual([1, 1, 1, 1, 2, 3]);
  const keys = async (segment: string, pos: number) =>
    (await store.turns.upTo('alice', { segment, pos })).map(({ key }) => key);
  expect([await keys('seg', 2), await keys('fork0', 0), await keys('conv_1', 1)]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'e'],
    ['d', 'f'],
  ]);
});
