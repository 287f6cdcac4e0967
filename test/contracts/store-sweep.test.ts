import { expect, it } from 'vitest';

import { usageStore } from '../../src/features/usage/store.ts';
import {
  commit,
  commitChain,
  DAY,
  describeStores,
  turnOf,
  type StoreHarness,
} from '../support/store-harness.ts';
import { usageRow } from '../support/usage-rows.ts';
import { partOf } from '../../src/store/part.ts';
import { limitStore } from '../../src/features/keys/limit-store.ts';

const TABLES = [
  'segments',
  'turns',
  'item_index',
  'responses',
  'run_events',
  'chat_completions',
  'chat_metadata',
  'memory',
  'limit_counters',
  'limit_reservations',
  'usage',
];

const counts = async ({ sql }: StoreHarness): Promise<Readonly<Record<string, unknown>>> => {
  const rows = await Promise.all(
    // The row that shows the current key stays for ever.
    TABLES.map((table) =>
      sql(
        `select count(*) as count from ${table} ${table === 'memory' ? "where kind <> 'store-check'" : ''}`,
      ),
    ),
  );
  return Object.fromEntries(TABLES.map((table, index) => [table, rows[index]?.[0]?.['count']]));
};

const EMPTY = Object.fromEntries(TABLES.map((table) => [table, 0]));

/** Sweeps until nothing is left to do. Returns how often. */
const sweepAll = async ({ store, clock }: StoreHarness, limit: number): Promise<number> => {
  for (let times = 1; ; times += 1) {
    if ((await store.sweep(limit)) === 0) return times;
    // A segment that waits for its forks is looked at again later.
    clock.time += 2;
    if (times > 1_000) throw new Error('the sweep never ends');
  }
};

describeStores('the sweep', (open) => {
  it('deletes everything that has expired, in small steps', async () => {
    const harness = open();
    const { store, clock } = harness;
    const chain = await commitChain(harness, 30);
    await commitChain(harness, 5, chain[3]!.at);
    await store.conversations.create({
      id: 'conv',
      owner: 'alice',
      createdAt: clock.time,
      expiresAt: clock.time + DAY,
      body: '{}',
      cacheKey: 'c',
      turn: null,
    });
    for (let first = 0; first < 8; first += 1) {
      await store.events.append('alice', 'resp_x', { first, last: first, body: 'x' }, clock.time + DAY);
      await store.memory.put('reasoning', String(first), 'x', clock.time + DAY);
      await partOf(store, usageStore).put([usageRow(String(first), { expiresAt: clock.time + DAY })]);
      await store.chats.add({
        id: String(first),
        owner: 'alice',
        model: 'm',
        createdAt: 0,
        metadata: { a: 'b' },
        body: '',
        messages: '',
        expiresAt: clock.time + DAY,
      });
    }
    const claim = { name: 'l', max: 5, amount: 1, resetsAt: clock.time, lengthMs: DAY };
    await partOf(store, limitStore).reserve({
      id: 'r',
      keyId: 'k',
      expiresAt: clock.time + DAY,
      limits: [claim],
    });
    expect(await store.sweep(100)).toBe(0);
    clock.time += DAY;
    expect(await store.sweep(3)).toBeLessThanOrEqual(24);
    expect(await sweepAll(harness, 3)).toBeGreaterThan(5);
    expect(await counts(harness)).toEqual(EMPTY);
  });

  it('keeps what others were forked from, until those have expired', async () => {
    const harness = open();
    const { store, clock } = harness;
    const chain = await commitChain(harness, 3);
    clock.time += DAY / 2;
    const fork = await commit(harness, chain[1]!.at);
    clock.time += DAY / 2;
    await sweepAll(harness, 10);
    expect(await store.responses.find('alice', chain[1]!.responseId)).toBe(null);
    expect(await store.turns.upTo('alice', fork.at)).toHaveLength(3);
    expect(await counts(harness)).toMatchObject({ segments: 2, responses: 1 });
    clock.time += DAY;
    await sweepAll(harness, 10);
    clock.time += 1;
    await sweepAll(harness, 10);
    expect(await counts(harness)).toEqual(EMPTY);
  });

  it('keeps a chain whose last turn is young', async () => {
    const harness = open();
    const { store, clock } = harness;
    const chain = await commitChain(harness, 2);
    clock.time += DAY / 2;
    const last = await commit(harness, chain[1]!.at);
    clock.time += DAY / 2;
    await sweepAll(harness, 10);
    expect(await counts(harness)).toMatchObject({ turns: 3, responses: 1 });
    expect(await store.turns.upTo('alice', last.at)).toHaveLength(3);
    clock.time += DAY;
    await sweepAll(harness, 10);
    expect(await counts(harness)).toEqual(EMPTY);
  });

  it('deletes forks of forks of forks', async () => {
    const harness = open();
    let last = await commit(harness);
    for (let depth = 0; depth < 40; depth += 1) {
      // A second follower makes the next one a fork.
      await commit(harness, last.at);
      last = await commit(harness, last.at);
    }
    expect(await counts(harness)).toMatchObject({ segments: 41, turns: 81 });
    harness.clock.time += DAY;
    await sweepAll(harness, 5);
    expect(await counts(harness)).toEqual(EMPTY);
  });

  it('deletes a long conversation that was deleted', async () => {
    const harness = open();
    const { store, clock } = harness;
    const row = { id: 'conv_long', owner: 'alice', createdAt: 0, body: '{}', cacheKey: 'c', turn: null };
    await store.conversations.create({ ...row, expiresAt: clock.time + DAY });
    const onto = { kind: 'conversation', id: row.id } as const;
    const expiresAt = clock.time + DAY;
    await Promise.all(
      Array.from({ length: 150 }, () =>
        store.turns.commit({
          owner: 'alice',
          onto,
          turn: turnOf(harness.newId('key')),
          response: null,
          expiresAt,
        }),
      ),
    );
    await store.conversations.delete('alice', row.id);
    expect(await store.turns.upTo('alice', { segment: row.id, pos: 0 })).toEqual([]);
    await sweepAll(harness, 50);
    expect(await counts(harness)).toEqual(EMPTY);
  });
});
