import { expect, it } from 'vitest';

import type { ResponseRow, ResponseStatus } from '../../src/features/state/store/port.ts';
import {
  commit,
  commitChain,
  DAY,
  describeStores,
  ontoOf,
  responseOf,
  turnOf,
  type StoreHarness,
} from '../support/store-harness.ts';

/** A background response that waits. */
const queue = async (
  harness: StoreHarness,
  different: Partial<ResponseRow> = {},
  lease = { instance: 'one', beat: 0 },
): Promise<Omit<ResponseRow, 'position'>> => {
  const row = {
    ...responseOf(harness, harness.newId('resp'), { status: 'queued', isBackground: true, ...different }),
    owner: 'alice',
  };
  await harness.store.responses.add(row, lease);
  return row;
};

const endOf = (harness: StoreHarness, row: Omit<ResponseRow, 'position'>) => ({
  owner: 'alice',
  onto: ontoOf(harness, null),
  turn: turnOf(harness.newId('key')),
  response: { ...row, status: 'completed' as const, body: '{"status":"completed"}' },
  expiresAt: harness.clock.time + DAY,
});

describeStores('responses', (open) => {
  it('run in the background, and end with their turn', async () => {
    const harness = open();
    const { store } = harness;
    const row = await queue(harness);
    expect(await store.responses.find('alice', row.id)).toEqual({ ...row, position: null });
    expect(await store.responses.change('alice', row.id, { status: 'in_progress' })).toEqual({
      ...row,
      status: 'in_progress',
      position: null,
    });
    const end = endOf(harness, row);
    const position = await store.turns.commit(end);
    expect(await store.responses.find('alice', row.id)).toEqual({
      ...end.response,
      owner: 'alice',
      position,
    });
    expect(await store.turns.upTo('alice', position!)).toHaveLength(1);
  });

  it.each<ResponseStatus>(['cancelled', 'failed'])('that are %s stay so', async (status) => {
    const harness = open();
    const { store, clock } = harness;
    const row = await queue(harness);
    const changed = { ...row, status, body: '{"changed":1}', expiresAt: clock.time + 1000, position: null };
    const { body, expiresAt } = changed;
    expect(await store.responses.change('alice', row.id, { status, body, expiresAt })).toEqual(changed);
    const end = endOf(harness, row);
    expect(await store.turns.commit(end)).toBe(null);
    expect(await store.turns.byKey('alice', end.turn.key)).toBe(null);
    expect(await store.responses.change('alice', row.id, { status: 'in_progress' })).toBe(null);
    expect(await store.responses.find('alice', row.id)).toEqual(changed);
  });

  it('end only once', async () => {
    const harness = open();
    const row = await queue(harness);
    const ends = [endOf(harness, row), endOf(harness, row), endOf(harness, row)];
    const written = await Promise.all(ends.map((end) => harness.store.turns.commit(end)));
    expect(written.filter((position) => position !== null)).toHaveLength(1);
  });

  it('belong to the instance that renews their lease', async () => {
    const harness = open();
    const { store } = harness;
    const lease = { instance: 'mine', beat: 1 };
    const [kept, cancelled, lost] = await Promise.all([1, 2, 3].map(() => queue(harness, {}, lease)));
    const own = async (): Promise<unknown> =>
      (await store.responses.leases(1000)).filter(({ instance }) => instance === 'mine');
    await store.responses.change('alice', cancelled!.id, { status: 'cancelled' });
    const ids = [kept!.id, cancelled!.id, 'resp_unknown'];
    expect(await store.responses.renew({ instance: 'mine', beat: 2 }, ids)).toEqual([
      cancelled!.id,
      'resp_unknown',
    ]);
    expect(await store.responses.renew({ instance: 'mine', beat: 3 }, [])).toEqual([]);
    expect(await own()).toEqual([
      { id: kept!.id, instance: 'mine', beat: 2 },
      { id: lost!.id, instance: 'mine', beat: 1 },
    ]);
    const seen = ids.concat(lost!.id).map((id) => ({ id, ...lease }));
    expect(await store.responses.take({ instance: 'other', beat: 7 }, seen)).toEqual([
      { ...lost, position: null },
    ]);
    expect(await store.responses.renew({ instance: 'mine', beat: 4 }, [kept!.id, lost!.id])).toEqual([
      lost!.id,
    ]);
    expect(await own()).toEqual([{ id: kept!.id, instance: 'mine', beat: 4 }]);
    expect((await store.responses.leases(1000)).find(({ id }) => id === lost!.id)).toEqual({
      id: lost!.id,
      instance: 'other',
      beat: 7,
    });
  });

  it('that are lost are taken once', async () => {
    const harness = open();
    const { store } = harness;
    const lost = await Promise.all(
      [1, 2, 3, 4, 5].map(() => queue(harness, {}, { instance: 'dead', beat: 3 })),
    );
    const seen = (await store.responses.leases(1000)).filter(({ instance }) => instance === 'dead');
    const taken = await Promise.all(
      ['a', 'b', 'c', 'd'].map((instance) => store.responses.take({ instance, beat: 0 }, seen)),
    );
    expect(
      taken
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(lost.map(({ id }) => id).toSorted());
    expect(await store.responses.leases(2)).toHaveLength(2);
  });

  it('are deleted with a turn that nothing else needs', async () => {
    const harness = open();
    const { store } = harness;
    const chain = await commitChain(harness, 3);
    const [first, second, third] = chain.map(({ responseId }) => responseId) as [string, string, string];
    const { segment } = chain[0]!.at;
    const left = async (): Promise<unknown> =>
      (await harness.sql(`select pos from turns where segment_id = '${segment}' order by pos`)).map(
        ({ pos }) => pos,
      );
    expect(await store.responses.delete('alice', second)).toBe(true);
    expect(await store.responses.delete('alice', second)).toBe(false);
    expect(await left()).toEqual([0, 1, 2]);
    expect(await store.turns.upTo('alice', chain[2]!.at)).toHaveLength(3);
    await store.responses.delete('alice', third);
    expect(await left()).toEqual([0]);
    expect(
      await store.turns.byItems(
        'alice',
        chain.map(({ key }) => `msg_${key}`),
        1_000,
      ),
    ).toEqual(new Map([[`msg_${chain[0]!.key}`, (await store.turns.upTo('alice', chain[0]!.at))[0]]]));
    const again = await commit(harness, chain[0]!.at);
    expect(again.at).toEqual({ segment, pos: 1 });
    await store.responses.delete('alice', again.responseId);
    await store.responses.delete('alice', first);
    expect(await harness.sql(`select id from segments where id = '${segment}'`)).toEqual([]);
  });

  it('are deleted with all that a fork was the last to need', async () => {
    const harness = open();
    const { store } = harness;
    const chain = await commitChain(harness, 3);
    const fork = await commit(harness, chain[1]!.at);
    for (const { responseId } of chain) await store.responses.delete('alice', responseId);
    expect(await store.turns.upTo('alice', fork.at)).toHaveLength(3);
    await store.responses.delete('alice', fork.responseId);
    expect(
      await harness.sql(
        `select id from segments where id in ('${chain[0]!.at.segment}', '${fork.at.segment}')`,
      ),
    ).toEqual([]);
  });

  it('wake those that watch them', async () => {
    const harness = open();
    const { store } = harness;
    const seen: string[] = [];
    const stop = store.watch((id, what) => void seen.push(`${what} of ${id}`));
    const [one, two, three] = (await Promise.all([1, 2, 3].map(() => queue(harness)))) as [
      Omit<ResponseRow, 'position'>,
      Omit<ResponseRow, 'position'>,
      Omit<ResponseRow, 'position'>,
    ];
    await store.events.append('alice', one.id, { first: 0, last: 0, body: '[]' }, harness.clock.time + DAY);
    await store.responses.change('alice', two.id, { status: 'cancelled' });
    await store.turns.commit(endOf(harness, three));
    const all = new Set([`events of ${one.id}`, `status of ${two.id}`, `status of ${three.id}`]);
    await expect.poll(() => new Set(seen)).toEqual(all);
    stop();
    await store.responses.delete('alice', one.id);
    expect(new Set(seen)).toEqual(all);
  });

  it('are unknown to other owners and after they expired', async () => {
    const harness = open();
    const { store, clock } = harness;
    const row = await queue(harness);
    const tried = async (owner: string): Promise<readonly unknown[]> => [
      await store.responses.find(owner, row.id),
      await store.responses.change(owner, row.id, { status: 'cancelled' }),
      await store.responses.delete(owner, row.id),
      await store.turns.commit({ ...endOf(harness, row), owner }),
    ];
    expect(await tried('bob')).toEqual([null, null, false, null]);
    clock.time = row.expiresAt;
    expect(await tried('alice')).toEqual([null, null, false, null]);
  });

  it('have ids of any text', async () => {
    const { store } = open();
    for (const id of ['resp_\0', '', 'x'.repeat(10_000), "'; drop table responses", '\uD800', '😀']) {
      expect([id, await store.responses.find('alice', id)]).toEqual([id, null]);
      expect([id, await store.responses.delete('alice', id)]).toEqual([id, false]);
    }
  });
});
