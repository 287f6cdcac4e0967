import { expect, it } from 'vitest';

import type { SegmentRow } from '../../src/features/state/store/port.ts';
import {
  commit,
  commitChain,
  DAY,
  describeStores,
  KEYS,
  turnOf,
  type StoreHarness,
} from '../support/store-harness.ts';

/** Conversations and chains of all owners. Each test has owners of its own. */

const PAGE = { after: null, order: 'asc', limit: 100, maxChars: 1_000_000 } as const;

const newConversation = async (harness: StoreHarness, owner: string): Promise<string> => {
  const id = harness.newId('conv');
  const { time } = harness.clock;
  await harness.store.conversations.create({
    id,
    owner,
    createdAt: time,
    expiresAt: time + DAY,
    body: '{"form":1}',
    cacheKey: 'c',
    turn: turnOf(harness.newId('key')),
  });
  return id;
};

const keysOf = async (harness: StoreHarness, id: string, page: object = {}): Promise<unknown> => {
  const found = await harness.store.segments.turns(id, { ...PAGE, ...page });
  return found === null ? null : [found.turns.map(({ key }) => key), found.hasMore];
};

describeStores('segments of all owners', (open) => {
  it('are listed, the newest first, page by page, of all owners or of one', async () => {
    const harness = open();
    const { store, clock } = harness;
    const [ann, bob] = [harness.newId('ann'), harness.newId('bob')];
    const first = await commit(harness, null, ann);
    clock.time += 1000;
    const second = await newConversation(harness, bob);
    // At the same moment: the order is still a total one.
    const third = await newConversation(harness, ann);
    clock.time += 1000;
    const later = await commit(harness, first.at, ann);
    const row = (different: Partial<SegmentRow>): SegmentRow => ({
      id: '',
      owner: ann,
      kind: 'conversation',
      createdAt: clock.time - 1000,
      updatedAt: clock.time - 1000,
      expiresAt: clock.time - 1000 + DAY,
      turns: 1,
      from: null,
      ...different,
    });
    const chain = row({
      id: first.at.segment,
      kind: 'chain',
      createdAt: clock.time - 2000,
      updatedAt: clock.time,
      expiresAt: clock.time + DAY,
      turns: 2,
    });
    expect(later.at.segment).toBe(first.at.segment);
    const list = (page: object) => store.segments.list({ owner: null, after: null, limit: 10, ...page });
    expect(await list({ owner: ann })).toEqual([row({ id: third }), chain]);
    expect(await list({ owner: bob })).toEqual([row({ id: second, owner: bob })]);
    const order = [third, second].toSorted().toReversed();
    const all = [...order, chain.id];
    expect((await list({ limit: 3 }))?.map(({ id }) => id)).toEqual(all);
    for (const [index, id] of all.slice(0, 2).entries()) {
      expect((await list({ after: id, limit: 1 }))?.map((one) => one.id)).toEqual([all[index + 1]]);
    }
    expect(await list({ after: 'seg_unknown' })).toBe(null);
    expect(await store.segments.find(third)).toEqual({ ...row({ id: third }), body: '{"form":1}' });
    expect(await store.segments.find(chain.id)).toEqual({ ...chain, body: null });
  });

  it('are unknown once they have expired', async () => {
    const harness = open();
    const { store, clock } = harness;
    const owner = harness.newId('ann');
    const id = await newConversation(harness, owner);
    clock.time += DAY;
    expect([
      await store.segments.list({ owner, after: null, limit: 10 }),
      await store.segments.list({ owner, after: id, limit: 10 }),
      await store.segments.find(id),
      await store.segments.turns(id, PAGE),
      await store.segments.delete(id, 10),
    ]).toEqual([[], [], null, { turns: [], hasMore: false }, null]);
  });

  it('have turns in both orders, with those that they continue, even if these have expired', async () => {
    const harness = open();
    const { clock } = harness;
    const [one, two, three] = await commitChain(harness, 3);
    const [fork, forkTwo] = await commitChain(harness, 2, two!.at);
    const forkFork = await commit(harness, fork!.at);
    clock.time += DAY - 1;
    const last = await commit(harness, forkFork.at);
    clock.time += 1;
    const keys = [one, two, fork, forkFork, last].map((turn) => turn!.key);
    const { segment } = last.at;
    expect(await keysOf(harness, segment)).toEqual([keys, false]);
    expect(await keysOf(harness, segment, { order: 'desc' })).toEqual([keys.toReversed(), false]);
    expect(await keysOf(harness, segment, { limit: 2 })).toEqual([keys.slice(0, 2), true]);
    expect(await keysOf(harness, segment, { after: keys[1], limit: 2 })).toEqual([keys.slice(2, 4), true]);
    expect(await keysOf(harness, segment, { after: keys[3], order: 'desc', limit: 2 })).toEqual([
      [keys[2], keys[1]],
      true,
    ]);
    expect(await keysOf(harness, segment, { after: keys[4] })).toEqual([[], false]);
    // One turn at least, and then those that fit.
    expect(await keysOf(harness, segment, { maxChars: 1 })).toEqual([[keys[0]], true]);
    // They belong to other branches.
    expect(await keysOf(harness, segment, { after: three!.key })).toBe(null);
    expect(await keysOf(harness, segment, { after: forkTwo!.key })).toBe(null);
    expect(await keysOf(harness, segment, { after: 'unknown' })).toBe(null);
  });

  it('are deleted in steps, with their responses, items and events', async () => {
    const harness = open();
    const { store, clock } = harness;
    const id = await newConversation(harness, 'alice');
    const turns = [];
    for (let count = 0; count < 3; count += 1) {
      turns.push(await commit(harness, { kind: 'conversation', id }));
    }
    const [, , third] = turns;
    await store.events.append('alice', third!.responseId, { first: 0, last: 0, body: 'x' }, clock.time + DAY);
    expect(await store.segments.delete(id, 2)).toEqual({
      isDone: false,
      tip: 3,
      keptTip: 1,
      itemIds: expect.arrayContaining([`msg_${turns[1]!.key}`, `msg_${third!.key}`]),
    });
    expect(await store.conversations.find('alice', id)).toBe(null);
    expect(await store.segments.find(id)).toMatchObject({ kind: 'chain', turns: 2, body: null });
    expect(await store.segments.delete(id, 2)).toMatchObject({ isDone: true, tip: 1, keptTip: -1 });
    expect(await store.segments.delete(id, 2)).toBe(null);
    expect(
      await Promise.all(turns.map(({ responseId }) => store.responses.find('alice', responseId))),
    ).toEqual([null, null, null]);
    expect(await store.events.after(third!.responseId, -1, 100)).toEqual([]);
    expect(await store.turns.byItems('alice', [`msg_${turns[0]!.key}`], 100)).toEqual(new Map());
    expect(await harness.sql(`select * from turns where segment_id = '${id}'`)).toEqual([]);
  });

  it('keep the turns that others continue until those are deleted', async () => {
    const harness = open();
    const { store } = harness;
    const [one, two] = await commitChain(harness, 2);
    const fork = await commit(harness, one!.at);
    const { segment } = one!.at;
    expect(await store.segments.delete(segment, 10)).toMatchObject({ isDone: true, tip: 1, keptTip: 0 });
    expect(await store.responses.find('alice', two!.responseId)).toBe(null);
    expect(await store.turns.upTo('alice', fork.at)).toHaveLength(2);
    expect(await store.segments.delete(fork.at.segment, 10)).toMatchObject({ isDone: true, keptTip: -1 });
    expect(await store.segments.find(segment)).toBe(null);
    expect(await harness.sql(`select id from segments where id = '${segment}'`)).toEqual([]);
  });

  it('wake those who follow a response', async () => {
    const harness = open();
    const { at } = await commit(harness);
    const woken: string[] = [];
    const stop = harness.store.watch((id, what) => woken.push(`${id} ${what}`));
    await harness.store.segments.delete(at.segment, 10);
    await expect.poll(() => woken).toContain('* status');
    stop();
  });
});

describeStores(
  'encrypted segments',
  (open) => {
    it('can be listed and deleted without their key, and name what cannot be read', async () => {
      const harness = open();
      const { at, key, responseId } = await commit(harness);
      const id = await newConversation(harness, 'alice');
      const blind = await harness.openWithoutKey([KEYS[1]]);
      expect((await blind.segments.list({ owner: null, after: null, limit: 2 }))?.length).toBe(2);
      expect(await blind.segments.find(id)).toMatchObject({ id, body: null });
      expect(await blind.segments.turns(at.segment, PAGE)).toEqual({
        turns: [{ key, responseId, body: null }],
        hasMore: false,
      });
      expect(await blind.segments.delete(at.segment, 10)).toMatchObject({ isDone: true });
    });
  },
  { keys: [KEYS[0]] },
);
