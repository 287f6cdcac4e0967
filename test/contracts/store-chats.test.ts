import { expect, it } from 'vitest';

import type { ChatRow, ChatStore } from '../../src/features/state/store/port.ts';
import { DAY, describeStores, KEYS, type StoreHarness } from '../support/store-harness.ts';

const add = async (
  harness: StoreHarness,
  owner: string,
  different: Partial<ChatRow> = {},
): Promise<ChatRow> => {
  const id = harness.newId('chatcmpl');
  const row = {
    id,
    model: 'm',
    createdAt: harness.clock.time,
    metadata: {},
    body: `{"id":"${id}"}`,
    messages: '[{"role":"user"}]',
    ...different,
  };
  await harness.store.chats.add({ ...row, owner, expiresAt: harness.clock.time + DAY });
  return row;
};

type Page = Parameters<ChatStore['list']>[1];

const ALL: Page = { model: null, metadata: {}, after: null, order: 'asc', limit: 100 };

const listed = async (
  { store }: StoreHarness,
  owner: string,
  page: Partial<Page>,
): Promise<readonly string[]> => (await store.chats.list(owner, { ...ALL, ...page })).map(({ id }) => id);

const chats = (open: () => StoreHarness): void => {
  it('are added, found, updated and deleted', async () => {
    const harness = open();
    const { store } = harness;
    const row = await add(harness, 'alice', { metadata: { a: '1', 'b\0': '\uD800' } });
    expect(await store.chats.find('alice', row.id)).toEqual(row);
    const to = { metadata: { c: '3' }, body: '{"metadata":{"c":"3"}}' };
    expect(await store.chats.update('alice', row.id, to)).toEqual({ ...row, ...to });
    expect(await store.chats.find('alice', row.id)).toEqual({ ...row, ...to });
    expect([await store.chats.delete('alice', row.id), await store.chats.delete('alice', row.id)]).toEqual([
      true,
      false,
    ]);
    expect(await store.chats.find('alice', row.id)).toBe(null);
    expect(await harness.sql(`select * from chat_metadata where chat_id = '${row.id}'`)).toEqual([]);
  });

  it('are listed in the order of their creation, page by page', async () => {
    const harness = open();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      if (count !== 2) harness.clock.time += 1;
      ids.push((await add(harness, 'carol')).id);
    }
    expect(await listed(harness, 'carol', {})).toEqual(ids);
    expect(await listed(harness, 'carol', { order: 'desc' })).toEqual(ids.toReversed());
    expect(await listed(harness, 'carol', { after: ids[1]!, limit: 2 })).toEqual([ids[2], ids[3]]);
    expect(await listed(harness, 'carol', { after: ids[2]!, order: 'desc' })).toEqual([ids[1], ids[0]]);
    expect(await listed(harness, 'carol', { after: ids[4]! })).toEqual([]);
    expect(await listed(harness, 'carol', { after: 'chatcmpl_unknown' })).toEqual([]);
    const [first] = await harness.store.chats.list('carol', { ...ALL, limit: 1 });
    const { messages: _, ...shown } = (await harness.store.chats.find('carol', ids[0]!))!;
    expect(first).toEqual(shown);
  });

  it('are listed by model and metadata', async () => {
    const harness = open();
    const [one, two, three] = await Promise.all([
      add(harness, 'dave', { model: 'x', metadata: { a: '1', b: '2' }, createdAt: 1 }),
      add(harness, 'dave', { model: 'y', metadata: { a: '1' }, createdAt: 2 }),
      add(harness, 'dave', { model: 'x', metadata: { a: '2' }, createdAt: 3 }),
    ]);
    expect(await listed(harness, 'dave', { model: 'x' })).toEqual([one.id, three.id]);
    expect(await listed(harness, 'dave', { metadata: { a: '1' } })).toEqual([one.id, two.id]);
    expect(await listed(harness, 'dave', { metadata: { a: '1', b: '2' } })).toEqual([one.id]);
    expect(await listed(harness, 'dave', { model: 'y', metadata: { b: '2' } })).toEqual([]);
    expect(await listed(harness, 'dave', { model: 'x\0' })).toEqual([]);
    await harness.store.chats.update('dave', two.id, { metadata: { a: '2' }, body: '{}' });
    expect(await listed(harness, 'dave', { metadata: { a: '2' } })).toEqual([two.id, three.id]);
  });

  it('are unknown to other owners and after they expired', async () => {
    const harness = open();
    const { store, clock } = harness;
    const row = await add(harness, 'erin', { metadata: { a: '1' } });
    const tried = async (owner: string): Promise<readonly unknown[]> => [
      await store.chats.find(owner, row.id),
      await store.chats.update(owner, row.id, { metadata: {}, body: '{}' }),
      await store.chats.delete(owner, row.id),
      await listed(harness, owner, { metadata: { a: '1' } }),
    ];
    expect(await tried('frank')).toEqual([null, null, false, []]);
    clock.time += DAY;
    expect(await tried('erin')).toEqual([null, null, false, []]);
  });
};

describeStores('chat completions', chats);
describeStores('sealed chat completions', chats, { keys: [KEYS[0]] });
