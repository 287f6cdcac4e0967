import { expect, it } from 'vitest';

import type { StateStore } from '../../src/features/state/store/port.ts';
import {
  commit,
  commitChain,
  DAY,
  describeStores,
  KEYS,
  ontoOf,
  responseOf,
  turnOf,
  type StoreHarness,
} from '../support/store-harness.ts';

const corrupt = (row: string) => ({
  failure: {
    kind: 'store_corrupt',
    status: 500,
    message: expect.stringContaining(`row ${row} (`) as unknown,
  },
});

/** Writes a turn with a response, and returns what is read of it. */
const writtenAndRead = async (
  harness: StoreHarness,
  store: StateStore,
  body: string,
): Promise<readonly string[]> => {
  const turn = turnOf(harness.newId('key'), { body });
  const response = responseOf(harness, harness.newId('resp'), { body });
  const at = await store.turns.commit({
    owner: 'alice',
    onto: ontoOf(harness, null),
    turn,
    response,
    expiresAt: harness.clock.time + DAY,
  });
  const [row] = await store.turns.upTo('alice', at!);
  return [row!.body, (await store.responses.find('alice', response.id))!.body];
};

const contents = (open: () => StoreHarness): void => {
  it.each([
    ['', ''],
    ['a NUL as JSON writes it', String.raw`{"text":"\u0000"}`],
    ['NULs and lone surrogates', '\0\uD800\uDC00\uD83D'],
    ['all planes', '{"text":"é 漢 😀 \u{10FFFF}"}'],
    ['the order and spaces of JSON', '{"b": 1, "a": [1.0, 1e400]}'],
    ['5 MB', JSON.stringify({ image: 'A'.repeat(5_000_000) })],
  ])('keeps %s', async (_, body) => {
    const harness = open();
    const read = await writtenAndRead(harness, harness.store, body);
    // Comparing whole megabytes would print them.
    expect(read.map((text) => text === body)).toEqual([true, true]);
  });

  it('grows by the same with every turn', async () => {
    const harness = open();
    const stored = async (segment: string): Promise<number> => {
      const [row] = await harness.sql(
        `select sum(length(body) + length(key)) as chars from turns where segment_id = '${segment}'`,
      );
      return Number(row!['chars']);
    };
    const body = JSON.stringify(['x'.repeat(3_000)]);
    const write = async (onto: Parameters<typeof ontoOf>[1]) =>
      harness.store.turns.commit({
        owner: 'alice',
        onto: ontoOf(harness, onto),
        turn: turnOf(harness.newId('key').padEnd(32, '_'), { body }),
        response: null,
        expiresAt: harness.clock.time + DAY,
      });
    let at = await write(null);
    const one = await stored(at!.segment);
    for (let count = 1; count < 200; count += 1) at = await write(at);
    expect(at!.pos).toBe(199);
    expect(await stored(at!.segment)).toBe(200 * one);
    const fork = await write({ ...at!, pos: 100 });
    expect(await stored(fork!.segment)).toBe(one);
    expect(await harness.store.turns.size('alice', fork!)).toBe(102 * body.length);
    expect(await harness.store.turns.upTo('alice', fork!)).toHaveLength(102);
  });

  it('names a row that is damaged, and reads the others', async () => {
    const harness = open();
    const { store, sql } = harness;
    const chain = await commitChain(harness, 3);
    const { segment } = chain[0]!.at;
    await sql(`update turns set body = substr(body, 1, 12) where segment_id = '${segment}' and pos = 1`);
    await expect(store.turns.upTo('alice', chain[2]!.at)).rejects.toMatchObject(corrupt(`${segment}/1`));
    expect(await store.turns.upTo('alice', chain[0]!.at)).toHaveLength(1);
    await sql(`update responses set body = 'x' where id = '${chain[2]!.responseId}'`);
    await expect(store.responses.find('alice', chain[2]!.responseId)).rejects.toMatchObject(
      corrupt(chain[2]!.responseId),
    );
    expect(await store.responses.delete('alice', chain[2]!.responseId)).toBe(true);
    expect((await commit(harness, chain[0]!.at)).at).toMatchObject({ pos: 0 });
  });

  it('rejects rows that were exchanged', async () => {
    const harness = open();
    const { store, sql } = harness;
    const [one, other] = [await commit(harness), await commit(harness, null, 'bob')];
    await sql(
      `update responses set body = (select body from responses where id = '${other.responseId}') where id = '${one.responseId}'`,
    );
    await expect(store.responses.find('alice', one.responseId)).rejects.toMatchObject(
      corrupt(one.responseId),
    );
    await sql(`update responses set owner = 'alice' where id = '${other.responseId}'`);
    await expect(store.responses.find('alice', other.responseId)).rejects.toMatchObject(
      corrupt(other.responseId),
    );
  });
};

describeStores('plain content', contents);
describeStores('sealed content', contents, { keys: [KEYS[0]] });

describeStores('a key that is rotated', (open) => {
  it('opens what was written before, and an operator may drop it later', async () => {
    const harness = open();
    const plain = harness.store;
    const old = await harness.openAnother({ keys: [KEYS[0]] });
    const rotated = await harness.openAnother({ keys: [KEYS[1], KEYS[0]] });
    const dropped = await harness.openAnother({ keys: [KEYS[1]] });
    const write = async (store: StateStore): Promise<string> =>
      (await commit({ ...harness, store })).responseId;
    const [plainId, oldId, newId] = [await write(plain), await write(old), await write(rotated)];
    const read = async (store: StateStore, id: string): Promise<unknown> =>
      store.responses.find('alice', id).then(
        (row) => row?.body,
        (error: { readonly failure: { readonly kind: string } }) => error.failure.kind,
      );
    const all = async (store: StateStore): Promise<unknown> =>
      Promise.all([plainId, oldId, newId].map((id) => read(store, id)));
    const bodies = [plainId, oldId, newId].map((id) => JSON.stringify({ id }));
    expect(await all(rotated)).toEqual(bodies);
    expect(await all(dropped)).toEqual([bodies[0], 'store_corrupt', bodies[2]]);
    expect(await all(plain)).toEqual([bodies[0], 'store_corrupt', 'store_corrupt']);
  });

  it('ends lost responses that no key opens, and takes the others', async () => {
    const harness = open();
    const old = await harness.openWithoutKey([KEYS[0]]);
    const store = await harness.openWithoutKey([KEYS[1]]);
    const dead = { instance: harness.newId('dead'), beat: 1 };
    const add = async (to: StateStore): Promise<string> => {
      const row = responseOf(harness, harness.newId('resp'), { status: 'in_progress', isBackground: true });
      await to.responses.add({ ...row, owner: 'alice' }, dead);
      return row.id;
    };
    const unreadable = await add(old);
    const readable = await add(store);
    const ids = new Set([unreadable, readable]);
    const own = async () => (await store.responses.leases(1_000)).filter(({ id }) => ids.has(id));
    const taken = await store.responses.take({ instance: 'other', beat: 0 }, await own());
    expect(taken.map(({ id }) => id)).toEqual([readable]);
    expect(await own()).toEqual([{ id: readable, instance: 'other', beat: 0 }]);
    expect(await store.responses.at('alice', unreadable)).toEqual({ status: 'failed', position: null });
    await expect(store.responses.find('alice', unreadable)).rejects.toMatchObject(corrupt(unreadable));
  });

  it('finds chat completions by metadata that was written with another key', async () => {
    const harness = open();
    const stores = [
      harness.store,
      await harness.openWithoutKey([KEYS[0]]),
      await harness.openWithoutKey([KEYS[1], KEYS[0]]),
    ];
    for (const [index, store] of stores.entries()) {
      await store.chats.add({
        id: `chat_${index}`,
        owner: 'carol',
        model: 'm',
        createdAt: index,
        metadata: { topic: 'secret' },
        body: '{}',
        messages: '[]',
        expiresAt: harness.clock.time + DAY,
      });
    }
    const page = { model: null, metadata: { topic: 'secret' }, after: null, order: 'asc', limit: 9 } as const;
    const found = await stores[2]!.chats.list('carol', page);
    expect(found.map(({ id }) => id)).toEqual(['chat_0', 'chat_1', 'chat_2']);
    const pairs = await harness.sql('select pair from chat_metadata');
    expect(new Set(pairs.map(({ pair }) => pair)).size).toBe(3);
  });
});
