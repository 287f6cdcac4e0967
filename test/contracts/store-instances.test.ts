import { expect, it } from 'vitest';

import { commit, commitChain, DAY, describeStores, responseOf } from '../support/store-harness.ts';

describeStores('several stores on one database', (open) => {
  it('see what each other wrote', async () => {
    const harness = open();
    const other = await harness.openAnother();
    const chain = await commitChain(harness, 2);
    expect(await other.turns.upTo('alice', chain[1]!.at)).toEqual(
      await harness.store.turns.upTo('alice', chain[1]!.at),
    );
    expect(await other.responses.delete('alice', chain[1]!.responseId)).toBe(true);
    expect(await harness.store.responses.find('alice', chain[1]!.responseId)).toBe(null);
  });

  it('fork where both continue the same turn', async () => {
    const harness = open();
    const other = { ...harness, store: await harness.openAnother() };
    const { at } = await commit(harness);
    const children = await Promise.all(
      Array.from({ length: 10 }, (_, index) => commit(index % 2 === 0 ? harness : other, at)),
    );
    expect(children.filter((child) => child.at.segment === at.segment)).toHaveLength(1);
    expect(new Set(children.map((child) => child.at.segment)).size).toBe(10);
  });
});

describeStores(
  'several stores on one database',
  (open) => {
    it('wake readers of each other', async () => {
      const harness = open();
      const other = await harness.openAnother();
      const seen: string[] = [];
      other.watch((id, what) => void seen.push(`${what} of ${id}`));
      const row = {
        ...responseOf(harness, harness.newId('resp')),
        status: 'queued',
        isBackground: true,
      } as const;
      const until = harness.clock.time + DAY;
      await harness.store.responses.add({ ...row, owner: 'alice' }, { instance: 'one', beat: 0 });
      await harness.store.events.append(row.id, { first: 0, last: 0, body: '' }, until);
      await expect.poll(() => seen).toEqual([`events of ${row.id}`]);
      await harness.store.responses.change('alice', row.id, { status: 'cancelled' });
      await expect.poll(() => seen).toEqual([`events of ${row.id}`, `status of ${row.id}`]);
    });
  },
  // A SQLite file belongs to one process.
  { kinds: ['postgres'] },
);
