import { expect, it } from 'vitest';

import type { ConversationRow, NewTurn } from '../../src/features/state/store/port.ts';
import { commit, DAY, describeStores, turnOf, type StoreHarness } from '../support/store-harness.ts';

const create = async (harness: StoreHarness, turn: NewTurn | null = null): Promise<ConversationRow> => {
  const id = harness.newId('conv');
  const row = { id, createdAt: harness.clock.time, body: `{"id":"${id}"}`, cacheKey: `cache ${id}` };
  await harness.store.conversations.create({
    ...row,
    owner: 'alice',
    expiresAt: harness.clock.time + DAY,
    turn,
  });
  return { ...row, tip: turn === null ? -1 : 0 };
};

const onto = (id: string) => ({ kind: 'conversation', id }) as const;

describeStores('conversations', (open) => {
  it('are created empty or with items', async () => {
    const harness = open();
    const { store } = harness;
    const empty = await create(harness);
    const turn = turnOf(harness.newId('key'));
    const filled = await create(harness, turn);
    expect(await store.conversations.find('alice', empty.id)).toEqual(empty);
    expect(await store.conversations.find('alice', filled.id)).toEqual(filled);
    const row = { segment: filled.id, pos: 0, key: turn.key, responseId: null, body: turn.body };
    expect(await store.turns.upTo('alice', { segment: filled.id, pos: 0 })).toEqual([row]);
    expect(await store.turns.byItems('alice', turn.itemIds, 1_000)).toEqual(
      new Map([[turn.itemIds[0], row]]),
    );
    expect(await store.turns.upTo('alice', { segment: empty.id, pos: -1 })).toEqual([]);
    expect(await store.turns.cacheKey('alice', filled.id)).toBe(filled.cacheKey);
  });

  it('grow at their end, with several writers', async () => {
    const harness = open();
    const { store } = harness;
    const { id } = await create(harness);
    const turns = await Promise.all(Array.from({ length: 8 }, () => commit(harness, onto(id))));
    expect(new Set(turns.map(({ at }) => at.pos))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
    expect(await store.conversations.find('alice', id)).toMatchObject({ tip: 7 });
    const rows = await store.turns.upTo('alice', { segment: id, pos: 7 });
    expect(rows.map(({ key }) => key)).toEqual(
      turns.toSorted((one, other) => one.at.pos - other.at.pos).map(({ key }) => key),
    );
    expect(await store.turns.size('alice', { segment: id, pos: 7 })).toBe(
      rows.map(({ body }) => body).join('').length,
    );
  });

  it('are not continued by what continues one of their responses', async () => {
    const harness = open();
    const { id } = await create(harness);
    const { at } = await commit(harness, onto(id));
    const next = await commit(harness, at);
    expect(next.at.segment).not.toBe(id);
    expect(await harness.store.turns.upTo('alice', next.at)).toHaveLength(2);
    expect(await harness.store.conversations.find('alice', id)).toMatchObject({ tip: 0 });
  });

  it('are updated', async () => {
    const harness = open();
    const { store, clock } = harness;
    const row = await create(harness);
    const to = { body: '{"metadata":{}}', expiresAt: clock.time + 3 * DAY };
    expect(await store.conversations.update('alice', row.id, to)).toEqual({ ...row, body: to.body });
    clock.time += 2 * DAY;
    expect(await store.conversations.find('alice', row.id)).toEqual({ ...row, body: to.body });
  });

  it('live on with every turn', async () => {
    const harness = open();
    const { store, clock } = harness;
    const { id } = await create(harness);
    clock.time += DAY / 2;
    await commit(harness, onto(id));
    clock.time += DAY / 2;
    expect(await store.conversations.find('alice', id)).toMatchObject({ tip: 0 });
    clock.time += DAY / 2;
    expect(await store.conversations.find('alice', id)).toBe(null);
  });

  it('are not locked for as long as a clock was wrong', async () => {
    const harness = open();
    const { store, clock } = harness;
    const row = await create(harness);
    const lock = (holder: string) =>
      store.conversations.lock('alice', row.id, { holder, until: clock.time + 1000 });
    await lock('a');
    clock.time -= 60_000;
    expect(await lock('b')).toBe(false);
    clock.time -= 1;
    expect(await lock('b')).toEqual(row);
  });

  it('have one holder of their lock at a time', async () => {
    const harness = open();
    const { store, clock } = harness;
    const row = await create(harness);
    const lock = (holder: string) =>
      store.conversations.lock('alice', row.id, { holder, until: clock.time + 1000 });
    expect([await lock('a'), await lock('b'), await lock('a')]).toEqual([row, false, row]);
    await store.conversations.unlock('alice', row.id, 'b');
    expect(await lock('b')).toBe(false);
    await store.conversations.unlock('alice', row.id, 'a');
    expect(await lock('b')).toEqual(row);
    clock.time += 1000;
    expect(await lock('a')).toEqual(row);
    const tries = await Promise.all(['c', 'd', 'e'].map((holder) => lock(holder)));
    expect(tries).toEqual([false, false, false]);
    expect(await store.conversations.lock('alice', 'conv_unknown', { holder: 'a', until: 1 })).toBe(null);
  });

  it('are deleted, except for turns of their responses', async () => {
    const harness = open();
    const { store } = harness;
    const { id } = await create(harness, turnOf(harness.newId('key')));
    const turn = await commit(harness, onto(id));
    await commit(harness, onto(id)).then(({ responseId }) => store.responses.delete('alice', responseId));
    expect(await store.turns.upTo('alice', { segment: id, pos: 2 })).toHaveLength(3);
    expect(await store.conversations.delete('alice', id)).toBe(true);
    expect(await store.conversations.delete('alice', id)).toBe(false);
    expect(await store.conversations.find('alice', id)).toBe(null);
    expect(await store.turns.upTo('alice', { segment: id, pos: 2 })).toEqual([]);
    expect(await store.turns.upTo('alice', turn.at)).toHaveLength(2);
    const write = { turn: turnOf(harness.newId('key')), response: null, expiresAt: harness.clock.time + DAY };
    expect(await store.turns.commit({ owner: 'alice', onto: onto(id), ...write })).toBe(null);
    await store.responses.delete('alice', turn.responseId);
    expect(await harness.sql(`select id from segments where id = '${id}'`)).toEqual([]);
  });

  it('are unknown to other owners', async () => {
    const harness = open();
    const { store, clock } = harness;
    const { id } = await create(harness);
    const until = clock.time + 1000;
    await store.conversations.lock('alice', id, { holder: 'a', until });
    await store.conversations.unlock('bob', id, 'a');
    const write = { turn: turnOf(harness.newId('key')), response: null, expiresAt: clock.time + DAY };
    expect([
      await store.conversations.find('bob', id),
      await store.conversations.update('bob', id, { body: '{}', expiresAt: until }),
      await store.conversations.lock('bob', id, { holder: 'a', until }),
      await store.conversations.delete('bob', id),
      await store.turns.commit({ owner: 'bob', onto: onto(id), ...write }),
    ]).toEqual([null, null, null, false, null]);
    expect(await store.conversations.lock('alice', id, { holder: 'b', until })).toBe(false);
  });
});
