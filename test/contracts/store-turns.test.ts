import { expect, it } from 'vitest';

import {
  commit,
  commitChain,
  DAY,
  describeStores,
  KEYS,
  responseOf,
  turnOf,
  type StoreHarness,
} from '../support/store-harness.ts';
import type { Onto, Position, TurnRow } from '../../src/features/state/store/port.ts';

const keysOf = (turns: readonly TurnRow[]): readonly string[] => turns.map(({ key }) => key);

const chainAt = async ({ store }: StoreHarness, at: Position): Promise<readonly string[]> =>
  keysOf(await store.turns.upTo('alice', at));

/** Commits the same background response each time; `run` says which of its runs made the answer. */
const backgroundWrite = async (
  harness: StoreHarness,
  kind: 'new' | 'after' | 'fork' | 'conversation',
): Promise<((run?: string) => Promise<Position | null>) & { responseId: string; key: string }> => {
  const { store, clock } = harness;
  const running = { status: 'in_progress', isBackground: true } as const;
  const response = responseOf(harness, harness.newId('resp'), running);
  await store.responses.add({ ...response, owner: 'alice' }, { instance: 'one', beat: 0 });
  const before = await commit(harness);
  if (kind === 'fork') await commit(harness, before.at);
  const conversation = harness.newId('conv');
  const { time: createdAt } = clock;
  const expiresAt = createdAt + DAY;
  if (kind === 'conversation') {
    const row = { id: conversation, owner: 'alice', createdAt, expiresAt, body: '{}', cacheKey: 'c' };
    await store.conversations.create({ ...row, turn: null });
  }
  const key = harness.newId('key');
  const write = (run = ''): Promise<Position | null> => {
    // A repeated write has a new segment.
    const segment = harness.newId('seg');
    const onto: Record<typeof kind, Onto> = {
      new: { kind: 'new', segment, cacheKey: 'c' },
      after: { kind: 'after', at: before.at, fork: segment, cacheKey: 'c' },
      fork: { kind: 'after', at: before.at, fork: segment, cacheKey: 'c' },
      conversation: { kind: 'conversation', id: conversation, tip: -1 },
    };
    return store.turns.commit({
      owner: 'alice',
      onto: onto[kind],
      turn: turnOf(key, { body: JSON.stringify([key, run]), itemIds: [`msg_${run}_${key}`] }),
      response: { ...response, status: 'completed', body: JSON.stringify({ run }) },
      expiresAt,
    });
  };
  return Object.assign(write, { responseId: response.id, key });
};

describeStores('turns', (open) => {
  it('are appended to a chain, and read with all that come before', async () => {
    const harness = open();
    const chain = await commitChain(harness, 3);
    const [first] = chain;
    const last = chain.at(-1)!;
    expect(chain.map(({ at }) => at.pos)).toEqual([0, 1, 2]);
    expect(await harness.store.turns.upTo('alice', last.at)).toEqual(
      chain.map(({ key, responseId, at }) => ({ ...at, key, responseId, body: JSON.stringify([key]) })),
    );
    expect(await chainAt(harness, first!.at)).toEqual([first!.key]);
    expect(await harness.store.responses.find('alice', last.responseId)).toEqual({
      ...responseOf(harness, last.responseId),
      owner: 'alice',
      position: last.at,
    });
  });

  it('fork where a turn has a follower, and copy nothing', async () => {
    const harness = open();
    const chain = await commitChain(harness, 4);
    const fork = await commitChain(harness, 2, chain[1]!.at);
    const again = await commitChain(harness, 2, fork[0]!.at);
    expect(fork.map(({ at }) => at.pos)).toEqual([0, 1]);
    expect(await chainAt(harness, again[1]!.at)).toEqual(
      [chain[0], chain[1], fork[0], ...again].map((turn) => turn!.key),
    );
    expect(await chainAt(harness, fork[1]!.at)).toEqual(
      [chain[0], chain[1], ...fork].map((turn) => turn!.key),
    );
    expect(await chainAt(harness, chain[3]!.at)).toEqual(chain.map(({ key }) => key));
    const segments = [chain, fork, again].map((turns) => turns[0]!.at.segment);
    expect(
      await harness.sql(
        `select count(*) as turns from turns where segment_id in ('${segments.join("', '")}')`,
      ),
    ).toEqual([{ turns: 8 }]);
  });

  it('fork when several continue the same turn at once', async () => {
    const harness = open();
    const [parent] = await commitChain(harness, 1);
    const children = await Promise.all(Array.from({ length: 12 }, () => commit(harness, parent!.at)));
    const places = children.map(({ at }) => `${at.segment}/${at.pos}`);
    expect(new Set(places).size).toBe(12);
    expect(children.filter(({ at }) => at.segment === parent!.at.segment)).toHaveLength(1);
    for (const child of children) expect(await chainAt(harness, child.at)).toEqual([parent!.key, child.key]);
  });

  it('are read whole after a hundred forks of forks', async () => {
    const harness = open();
    const keys: string[] = [];
    let at: Position | null = null;
    for (let depth = 0; depth < 300; depth += 1) {
      const turn: Awaited<ReturnType<typeof commit>> = await commit(harness, at);
      // A second follower makes the next one a fork.
      if (at !== null && depth % 3 === 0) await commit(harness, turn.at);
      at = turn.at;
      keys.push(turn.key);
    }
    expect(await chainAt(harness, at!)).toEqual(keys);
  });

  it('count their characters, with those of earlier segments', async () => {
    const harness = open();
    const { store } = harness;
    const chain = await commitChain(harness, 3);
    const fork = await commit(harness, chain[0]!.at);
    const chars = (turns: readonly { readonly key: string }[]): number =>
      turns.reduce((sum, { key }) => sum + JSON.stringify([key]).length, 0);
    expect(await store.turns.size('alice', chain[2]!.at)).toBe(chars(chain));
    expect(await store.turns.size('alice', fork.at)).toBe(chars([chain[0]!, fork]));
    expect(await store.turns.size('alice', { ...fork.at, pos: 1 })).toBe(null);
  });

  it('are written once, even if they are sent again', async () => {
    const harness = open();
    const { store } = harness;
    const write = {
      owner: 'alice',
      onto: { kind: 'new', segment: harness.newId('seg'), cacheKey: 'c' },
      turn: turnOf(harness.newId('key')),
      response: responseOf(harness, harness.newId('resp')),
      expiresAt: harness.clock.time + DAY,
    } as const;
    const at = { segment: write.onto.segment, pos: 0 };
    expect([await store.turns.commit(write), await store.turns.commit(write)]).toEqual([at, at]);
    expect(await chainAt(harness, at)).toEqual([write.turn.key]);
  });

  it.each(['new', 'after', 'fork', 'conversation'] as const)(
    'of a background response are written once, even if their end was not learned: %s',
    async (kind) => {
      const harness = open();
      const { store } = harness;
      const write = await backgroundWrite(harness, kind);
      const at = await write();
      expect(at).toMatchObject({ pos: kind === 'after' ? 1 : 0 });
      const response = await store.responses.find('alice', write.responseId);
      expect([await write(), await write()]).toEqual([at, at]);
      expect(await chainAt(harness, at!)).toContain(write.key);
      expect(response).toMatchObject({ status: 'completed', position: at });
      expect(await store.responses.find('alice', write.responseId)).toEqual(response);
    },
  );

  it.each(['new', 'after', 'fork', 'conversation'] as const)(
    'of a background response do not replace those of the instance that took it over: %s',
    async (kind) => {
      const harness = open();
      const { store } = harness;
      const write = await backgroundWrite(harness, kind);
      const at = await write();
      const stored = await Promise.all([
        store.responses.find('alice', write.responseId),
        store.turns.byKey('alice', write.key),
      ]);
      expect(await write('late')).toBe(null);
      expect(
        await Promise.all([
          store.responses.find('alice', write.responseId),
          store.turns.byKey('alice', write.key),
        ]),
      ).toEqual(stored);
      expect(await chainAt(harness, at!)).toContain(write.key);
      expect(await store.turns.byItems('alice', [`msg_late_${write.key}`], 1_000)).toEqual(new Map());
    },
  );

  it('are not written after a turn that is gone', async () => {
    const harness = open();
    const { store } = harness;
    const turn = await commit(harness);
    await store.responses.delete('alice', turn.responseId);
    const write = {
      owner: 'alice',
      onto: { kind: 'after', at: turn.at, fork: harness.newId('seg'), cacheKey: 'c' },
      turn: turnOf(harness.newId('key')),
      response: responseOf(harness, harness.newId('resp')),
      expiresAt: harness.clock.time + DAY,
    } as const;
    expect(await store.turns.commit(write)).toBe(null);
    expect(await store.turns.byKey('alice', write.turn.key)).toBe(null);
    expect(await store.responses.find('alice', write.response.id)).toBe(null);
  });

  it('have the cache key of their segment', async () => {
    const harness = open();
    const { store } = harness;
    const segment = harness.newId('seg');
    const first = await commit(harness, { kind: 'new', segment, cacheKey: 'one' });
    await commit(harness, { kind: 'after', at: first.at, fork: 'unused', cacheKey: 'not used' });
    const fork = harness.newId('seg');
    await commit(harness, { kind: 'after', at: first.at, fork, cacheKey: 'two' });
    expect(
      await Promise.all([segment, fork, 'unused'].map((id) => store.turns.cacheKey('alice', id))),
    ).toEqual(['one', 'two', null]);
  });

  it('are read page by page', async () => {
    const harness = open();
    const chain = await commitChain(harness, 5);
    const { segment } = chain[0]!.at;
    const page = async (from: number | null, order: 'asc' | 'desc', limit: number): Promise<unknown> =>
      keysOf(await harness.store.turns.page('alice', segment, { from, order, limit, maxChars: 1_000 })).map(
        (key) => chain.findIndex((turn) => turn.key === key),
      );
    expect([
      await page(null, 'asc', 2),
      await page(1, 'asc', 10),
      await page(4, 'asc', 10),
      await page(null, 'desc', 3),
      await page(2, 'desc', 10),
    ]).toEqual([[0, 1], [2, 3, 4], [], [4, 3, 2], [1, 0]]);
  });

  it('are found by their key and by their items', async () => {
    const harness = open();
    const { store } = harness;
    const chain = await commitChain(harness, 2);
    const [first, second] = (await store.turns.upTo('alice', chain[1]!.at)) as [TurnRow, TurnRow];
    expect(await store.turns.byKey('alice', first.key)).toEqual(first);
    const items = await store.turns.byItems(
      'alice',
      [`msg_${first.key}`, `msg_${second.key}`, 'msg_unknown', `msg_${first.key}`],
      1_000,
    );
    expect(items).toEqual(
      new Map([
        [`msg_${first.key}`, first],
        [`msg_${second.key}`, second],
      ]),
    );
    expect(await store.turns.byItems('alice', [], 1_000)).toEqual(new Map());
  });

  it.each([3, 300])('are found by each of %d items', async (count) => {
    const harness = open();
    const key = harness.newId('key');
    const itemIds = Array.from({ length: count }, (_, index) => `msg_${index}_${key}`);
    await harness.store.turns.commit({
      owner: 'alice',
      onto: { kind: 'new', segment: harness.newId('seg'), cacheKey: 'c' },
      turn: turnOf(key, { itemIds }),
      response: null,
      expiresAt: harness.clock.time + DAY,
    });
    const found = await harness.store.turns.byItems('alice', itemIds, 10_000);
    expect([...found.keys()].toSorted()).toEqual(itemIds.toSorted());
  });

  it('are read some at a time if they are long', async () => {
    const harness = open();
    const { turns } = harness.store;
    const chain = await commitChain(harness, 3);
    for (const row of await turns.upTo('alice', chain[2]!.at)) {
      await turns.rewrite('alice', row, JSON.stringify('x'.repeat(600)));
    }
    const keys = chain.map(({ key }) => key);
    const { segment } = chain[0]!.at;
    const page = { from: null, order: 'desc', limit: 3 } as const;
    const read = async (maxChars: number): Promise<readonly number[]> => [
      (await turns.page('alice', segment, { ...page, maxChars })).length,
      (await turns.byKeys('alice', ['unknown', ...keys], maxChars)).length,
      (await turns.byItems('alice', ['unknown', ...keys.map((key) => `msg_${key}`)], maxChars)).size,
    ];
    expect([await read(1), await read(1_000), await read(1_500), await read(10_000)]).toEqual([
      [1, 1, 1],
      [1, 1, 1],
      [2, 2, 2],
      [3, 3, 3],
    ]);
    expect(keysOf(await turns.page('alice', segment, { ...page, maxChars: 1 }))).toEqual(keys.slice(2));
    expect(keysOf(await turns.byKeys('alice', keys, 10_000)).toSorted()).toEqual(keys.toSorted());
  });

  it('are the newest ones with an item', async () => {
    const harness = open();
    const { store } = harness;
    const itemIds = ['msg_same', 'msg_same', harness.newId('x'.repeat(3_000))];
    const write = async (): Promise<string> => {
      const turn = turnOf(harness.newId('key'), { itemIds });
      const onto = { kind: 'new', segment: harness.newId('seg'), cacheKey: 'c' } as const;
      await store.turns.commit({
        owner: 'alice',
        onto,
        turn,
        response: null,
        expiresAt: harness.clock.time + DAY,
      });
      return turn.key;
    };
    await write();
    const newest = await write();
    expect((await store.turns.byItems('alice', ['msg_same'], 1_000)).get('msg_same')?.key).toBe(newest);
  });

  it('are rewritten unless they were changed in the meantime', async () => {
    const harness = open();
    const { store } = harness;
    const chain = await commitChain(harness, 3);
    const before = (await store.turns.upTo('alice', chain[2]!.at)) as [TurnRow, TurnRow, TurnRow];
    const total = await store.turns.size('alice', chain[2]!.at);
    expect(await store.turns.rewrite('alice', before[1], '["longer than before"]')).toBe(true);
    expect(await store.turns.rewrite('alice', before[1], '["too late"]')).toBe(false);
    expect(await store.turns.upTo('alice', chain[2]!.at)).toEqual([
      before[0],
      { ...before[1], body: '["longer than before"]' },
      before[2],
    ]);
    expect(await store.turns.size('alice', chain[2]!.at)).toBe(total);
  });

  it('are unknown to other owners and after they expired', async () => {
    const harness = open();
    const { store, clock } = harness;
    const turn = await commit(harness);
    const seen = async (owner: string): Promise<readonly unknown[]> => [
      await store.turns.upTo(owner, turn.at),
      await store.turns.size(owner, turn.at),
      await store.turns.cacheKey(owner, turn.at.segment),
      await store.turns.page(owner, turn.at.segment, { from: null, order: 'asc', limit: 1, maxChars: 1_000 }),
      await store.turns.byKey(owner, turn.key),
      await store.turns.byItems(owner, [`msg_${turn.key}`], 1_000),
      await store.turns.byKeys(owner, [turn.key], 1_000),
      await store.responses.find(owner, turn.responseId),
    ];
    const nothing = [[], null, null, [], null, new Map(), [], null];
    expect(await seen('bob')).toEqual(nothing);
    expect((await seen('alice')).filter((value) => value === null)).toEqual([]);
    const onto = { kind: 'after', at: turn.at, fork: 'seg_bob', cacheKey: 'c' } as const;
    const bobs = { owner: 'bob', onto, turn: turnOf('bob'), response: null, expiresAt: clock.time + DAY };
    expect(await store.turns.commit(bobs)).toBe(null);
    const [row] = await store.turns.upTo('alice', turn.at);
    expect(await store.turns.rewrite('bob', row!, '[]')).toBe(false);
    clock.time += DAY;
    expect(await seen('alice')).toEqual(nothing);
  });
});

describeStores(
  'sealed turns',
  (open) => {
    it('are read like others, and nothing of them is readable in the database', async () => {
      const harness = open();
      const chain = await commitChain(harness, 2);
      expect(await chainAt(harness, chain[1]!.at)).toEqual(chain.map(({ key }) => key));
      const rows = await harness.sql('select body from turns union all select body from responses');
      expect(rows).toHaveLength(4);
      expect(rows.filter(({ body }) => !/^e[\w-]{8}[A-Za-z0-9+/]+=*$/.test(String(body)))).toEqual([]);
    });
  },
  { keys: [KEYS[0]] },
);
