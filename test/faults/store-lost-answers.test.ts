import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';

import { openStore } from '../../src/compose/open-store.ts';
import { limitStore, type LimitStore } from '../../src/features/keys/limit-store.ts';
import type { Onto } from '../../src/features/state/store/port.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
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

/** The id of a reservation is not new. */
const TAKEN = 'The server had an error';

/** Does something, and cuts the connection when the server has committed it and says so. */
const unanswered = async <Result>(write: () => Promise<Result>): Promise<Result> => {
  const cut = forwarder.cutAt('COMMIT\0');
  const result = await write();
  await cut;
  return result;
};

it('a reservation whose answer was lost counts once', async () => {
  const limits = partOf(await open(forwarded), limitStore);
  // The first use makes the counter.
  await limits.reserve(reservation('once', 'before'));
  const reserved = await unanswered(() => limits.reserve(reservation('once', 'lost')));
  expect(reserved).toMatchObject({ isReserved: true, receipt: { reserves: [['a', 'before', 30]] } });
  expect(await usedOf(limits, 'once')).toBe(60);
  const receipt = reserved.isReserved ? reserved.receipt : undefined;
  await unanswered(() => limits.settle('lost', { a: 10 }, receipt));
  expect(await usedOf(limits, 'once')).toBe(40);
  // Without an answer no one knows that it was reserved.
  await unanswered(() => limits.giveBack('before'));
  expect(await usedOf(limits, 'once')).toBe(10);
  await unanswered(() => limits.giveBack('unknown'));
  await expect(limits.reserve(reservation('once', 'unknown'))).rejects.toThrow(TAKEN);
  expect(await usedOf(limits, 'once')).toBe(10);
});

it('what else is written without an answer is there once', async () => {
  const store = stateStoreOf(await open(forwarded));
  const chat = { id: 'chat_1', owner: 'alice', model: 'm', createdAt: NOW, expiresAt: LATER };
  const added = { ...chat, metadata: { a: 'b' }, body: '{}', messages: '[]' };
  await unanswered(() => store.chats.add(added));
  const { owner: _, expiresAt: __, ...found } = added;
  expect(await store.chats.find('alice', 'chat_1')).toEqual(found);
  const events = { first: 0, last: 3, body: 'events' };
  await unanswered(() => store.events.append('alice', 'resp_1', events, LATER));
  expect(await store.events.after('resp_1', -1, 100)).toEqual([events]);
  const copy = { owner: 'alice', responseId: 'resp_2', count: 4, body: 'copy', expiresAt: LATER };
  await unanswered(() => store.events.copy([copy]));
  expect(await store.events.after('resp_2', -1, 100)).toEqual([{ first: 0, last: 3, body: 'copy' }]);
  await unanswered(() => store.memory.put('reasoning', 'key', 'value', LATER));
  expect(await unanswered(() => store.memory.claim('reasoning', 'key', 'other', LATER))).toBe('value');
});

it.each([true, false])('a turn whose answer was lost is there once, background: %s', async (isBackground) => {
  const store = stateStoreOf(await open(forwarded));
  const owner = `alice_${isBackground}`;
  const conversation = { id: `conv_${owner}`, owner, createdAt: NOW, expiresAt: LATER, body: '{}' };
  await store.conversations.create({ ...conversation, cacheKey: 'c', turn: null });
  const commit = async (key: string, onto: Onto) => {
    const id = `resp_${owner}_${key}`;
    const row = { id, isBackground, createdAt: NOW, expiresAt: LATER, body: '{}' };
    if (isBackground) {
      await store.responses.add({ ...row, owner, status: 'in_progress' }, { instance: 'one', beat: 0 });
    }
    const turn = { key: `${owner}_${key}`, body: `["${key}"]`, itemIds: [`msg_${key}`] };
    const response = { ...row, status: 'completed' } as const;
    const at = await unanswered(() => store.turns.commit({ owner, onto, turn, response, expiresAt: LATER }));
    expect(await store.responses.at(owner, id)).toEqual({ status: 'completed', position: at });
    return at;
  };
  const segment = `seg_${owner}`;
  const at = { segment, pos: 0 };
  const after = (fork: string): Onto => ({ kind: 'after', at, fork: `${fork}_${owner}`, cacheKey: 'c' });
  expect([
    await commit('a', { kind: 'new', segment, cacheKey: 'c' }),
    await commit('b', after('unused')),
    await commit('c', { kind: 'conversation', id: conversation.id, tip: -1 }),
  ]).toEqual([at, { segment, pos: 1 }, { segment: conversation.id, pos: 0 }]);
  const keys = (await store.turns.upTo(owner, { segment, pos: 1 })).map(({ key }) => key);
  expect(keys).toEqual([`${owner}_a`, `${owner}_b`]);
});
