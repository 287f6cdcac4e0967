import { setTimeout as sleep } from 'node:timers/promises';

import { expect, it } from 'vitest';

import {
  commit,
  commitChain,
  DAY,
  describeStores,
  responseOf,
  type StoreHarness,
} from '../support/store-harness.ts';

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

/** A queued response, and who is woken by its changes in another store on the database. */
const watched = async (harness: StoreHarness) => {
  const seen: string[] = [];
  const other = await harness.openAnother();
  other.watch((id, what) => void seen.push(`${what} of ${id}`));
  const row = {
    ...responseOf(harness, harness.newId('resp')),
    status: 'queued',
    isBackground: true,
  } as const;
  await harness.store.responses.add({ ...row, owner: 'alice' }, { instance: 'one', beat: 0 });
  return { seen, other, id: row.id, until: harness.clock.time + DAY };
};

const WAKES = 'several stores on one database wake readers of each other';

describeStores('copies of streams', (open) => {
  it('are written in the order of their owners, so that instances do not wait for each other', async () => {
    const harness = open();
    const expiresAt = harness.clock.time + DAY;
    const owners = ['carol', 'alice', 'dave', 'bob'];
    await harness.store.events.copy(
      owners.map((owner) => ({ owner, responseId: harness.newId('resp'), count: 1, body: 'x', expiresAt })),
    );
    const place = harness.kind === 'sqlite' ? 'rowid' : 'ctid';
    const rows = await harness.sql(`select owner from run_events order by ${place}`);
    expect(rows.map(({ owner }) => owner)).toEqual(owners.toSorted());
  });
});

describeStores(
  WAKES,
  (open) => {
    it('with what changed', async () => {
      const harness = open();
      const { seen, other, id, until } = await watched(harness);
      await harness.store.events.append('alice', id, { first: 0, last: 0, body: '' }, until);
      await expect.poll(() => seen).toEqual([`events of ${id}`]);
      await harness.store.responses.change('alice', id, { status: 'cancelled' });
      await expect.poll(() => seen).toEqual([`events of ${id}`, `status of ${id}`]);
      const copyOf = (responseId: string) => ({
        owner: 'alice',
        responseId,
        count: 2,
        body: responseId,
        expiresAt: until,
      });
      const [one, two, three] = [
        harness.newId('resp'),
        harness.newId('resp'),
        harness.newId('resp'),
      ] as const;
      await harness.store.events.copy([copyOf(one)]);
      await harness.store.events.copy([copyOf(two), copyOf(three)]);
      const endless = `resp_${'x'.repeat(8_000)}`;
      await harness.store.events.copy([copyOf(endless)]);
      const copied = [one, two, three, '*'].map((copiedId) => `events of ${copiedId}`);
      await expect.poll(() => seen.slice(2)).toEqual(copied);
      expect(await other.events.after(three, -1, 10)).toEqual([{ first: 0, last: 1, body: three }]);
    });
  },
  { kinds: ['postgres'] },
);

describeStores(
  WAKES,
  (open) => {
    it('after any change', async () => {
      const harness = open();
      const { seen, id, until } = await watched(harness);
      for (let first = 0; seen.length === 0; first += 1) {
        await harness.store.events.append('alice', id, { first, last: first, body: '' }, until);
        await sleep(100);
      }
      expect(new Set(seen)).toEqual(new Set(['status of *']));
    });
  },
  { kinds: ['sqlite'] },
);
