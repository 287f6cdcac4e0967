import { expect, it } from 'vitest';

import { DAY, describeStores, type StoreHarness } from '../support/store-harness.ts';
import { type LimitClaim, limitStore, type Reserved } from '../../src/features/keys/limit-store.ts';
import type { Store } from '../../src/store/store.ts';
import { partOf } from '../../src/store/part.ts';

const MINUTE = 60_000;

const claimOf = ({ clock }: StoreHarness, different: Partial<LimitClaim> = {}): LimitClaim => ({
  name: 'tokens/minute/*',
  max: 100,
  amount: 30,
  resetsAt: clock.time + MINUTE,
  lengthMs: MINUTE,
  ...different,
});

const reserve = (
  harness: StoreHarness,
  keyId: string,
  limits: readonly LimitClaim[],
  { id = harness.newId('res'), store = harness.store }: { readonly id?: string; readonly store?: Store } = {},
): Promise<Reserved> =>
  partOf(store, limitStore).reserve({ id, keyId, expiresAt: harness.clock.time + DAY, limits });

/** What the key has used, by the names of its limits. */
const usedOf = async ({ store }: StoreHarness, keyId: string): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries(
    [...(await partOf(store, limitStore).status(keyId))].map(([name, { used }]) => [name, used]),
  );

/** The id of a reservation is not new. */
const TAKEN = 'The server had an error';

describeStores('limits of keys', (open) => {
  it('are reserved until they are used up', async () => {
    const harness = open();
    const key = harness.newId('key');
    const window = { beganAt: harness.clock.time, resetsAt: harness.clock.time + MINUTE };
    for (const used of [30, 60, 90]) {
      expect(await reserve(harness, key, [claimOf(harness)])).toEqual({
        isReserved: true,
        windows: new Map([['tokens/minute/*', { used, ...window }]]),
        receipt: { keyId: key, reserves: [['tokens/minute/*', expect.any(String), 30]] },
      });
    }
    const refused = { isReserved: false, name: 'tokens/minute/*', window: { used: 90, ...window } };
    expect(await reserve(harness, key, [claimOf(harness)])).toEqual(refused);
    expect(await partOf(harness.store, limitStore).status(key)).toEqual(
      new Map([['tokens/minute/*', { used: 90, ...window }]]),
    );
    expect(await reserve(harness, harness.newId('key'), [claimOf(harness)])).toMatchObject({
      isReserved: true,
    });
  });

  it('are raised together or not at all', async () => {
    const harness = open();
    const key = harness.newId('key');
    const tokens = claimOf(harness, { amount: 10 });
    const requests = claimOf(harness, { name: 'requests/day/*', max: 2, amount: 1, lengthMs: DAY });
    const day = { ...requests, resetsAt: harness.clock.time + DAY };
    await reserve(harness, key, [tokens, day]);
    await reserve(harness, key, [tokens, day]);
    expect(await reserve(harness, key, [tokens, day])).toMatchObject({
      isReserved: false,
      name: 'requests/day/*',
    });
    expect(await usedOf(harness, key)).toEqual({ 'requests/day/*': 2, 'tokens/minute/*': 20 });
    // Both are used up: the one that resets last is named.
    expect(await reserve(harness, key, [{ ...tokens, amount: 90 }, day])).toMatchObject({
      name: 'requests/day/*',
      window: { resetsAt: day.resetsAt },
    });
  });

  it('refuse an amount that is larger than the limit, and begin no window for it', async () => {
    const harness = open();
    const key = harness.newId('key');
    expect(await reserve(harness, key, [claimOf(harness, { amount: 101 })])).toEqual({
      isReserved: false,
      name: 'tokens/minute/*',
      window: { used: 0, beganAt: harness.clock.time, resetsAt: harness.clock.time + MINUTE },
    });
    expect(await partOf(harness.store, limitStore).status(key)).toEqual(new Map());
  });

  it('are settled once, with less or more than was reserved, and never below zero', async () => {
    const harness = open();
    const limits = partOf(harness.store, limitStore);
    const key = harness.newId('key');
    const name = 'tokens/minute/*';
    const ids = ['a', 'b', 'c'].map((one) => harness.newId(one));
    for (const id of ids) await reserve(harness, key, [claimOf(harness)], { id });
    const [first = '', second = '', third = ''] = ids;
    expect(await limits.settle(first, { [name]: 5 })).toBe(true);
    expect(await limits.settle(first, { [name]: 5 })).toBe(false);
    expect(await limits.giveBack(first)).toBe(false);
    expect(await usedOf(harness, key)).toEqual({ [name]: 65 });
    expect(await limits.settle(second, { [name]: 500 })).toBe(true);
    expect(await usedOf(harness, key)).toEqual({ [name]: 535 });
    expect(await reserve(harness, key, [claimOf(harness, { amount: 1 })])).toMatchObject({
      isReserved: false,
      window: { used: 535 },
    });
    expect(await limits.giveBack(third)).toBe(true);
    expect(await limits.giveBack(third)).toBe(false);
    expect(await usedOf(harness, key)).toEqual({ [name]: 505 });
    expect(await limits.settle('unknown', { [name]: 1 })).toBe(false);
    const fourth = harness.newId('d');
    await reserve(harness, key, [claimOf(harness, { max: 1_000 })], { id: fourth });
    await limits.settle(fourth, { [name]: -1_000 });
    expect(await usedOf(harness, key)).toEqual({ [name]: 0 });
  });

  it('count a reservation once, and one that comes after it was given back not at all', async () => {
    const harness = open();
    const limits = partOf(harness.store, limitStore);
    const key = harness.newId('key');
    const name = 'tokens/minute/*';
    const [first, late] = [harness.newId('res'), harness.newId('res')];
    await reserve(harness, key, [claimOf(harness)], { id: first });
    // Two times: its answer may not arrive, either.
    expect([await limits.giveBack(late), await limits.giveBack(late)]).toEqual([false, false]);
    for (const id of [first, late]) {
      // The second one does not fit.
      for (const max of [100, 50]) {
        await expect(reserve(harness, key, [claimOf(harness, { max })], { id })).rejects.toThrow(TAKEN);
        expect(await usedOf(harness, key)).toEqual({ [name]: 30 });
      }
    }
    expect([await limits.settle(late, { [name]: 1 }), await limits.settle(first, { [name]: 1 })]).toEqual([
      false,
      true,
    ]);
    expect(await usedOf(harness, key)).toEqual({ [name]: 1 });
    harness.clock.time += DAY;
    await harness.store.sweep(100);
    expect(await harness.sql(`select id from limit_reservations where id = '${late}'`)).toEqual([]);
  });

  it('keep the reserve of a limit that is not settled', async () => {
    const harness = open();
    const key = harness.newId('key');
    const id = harness.newId('res');
    await reserve(harness, key, [claimOf(harness), claimOf(harness, { name: 'b', amount: 7 })], { id });
    await partOf(harness.store, limitStore).settle(id, { b: 1 });
    expect(await usedOf(harness, key)).toEqual({ 'tokens/minute/*': 30, b: 1 });
  });

  it('begin a new window when the last one has ended, which an old reservation does not change', async () => {
    const harness = open();
    const { clock, store } = harness;
    const key = harness.newId('key');
    const old = harness.newId('res');
    await reserve(harness, key, [claimOf(harness, { amount: 100 })], { id: old });
    clock.time += MINUTE;
    expect(await partOf(store, limitStore).status(key)).toEqual(new Map());
    expect(await reserve(harness, key, [claimOf(harness)])).toEqual({
      isReserved: true,
      windows: new Map([
        ['tokens/minute/*', { used: 30, beganAt: clock.time, resetsAt: clock.time + MINUTE }],
      ]),
      receipt: expect.anything(),
    });
    expect(await partOf(store, limitStore).settle(old, { 'tokens/minute/*': 1 })).toBe(true);
    expect(await usedOf(harness, key)).toEqual({ 'tokens/minute/*': 30 });
  });

  it('can be reset, and what ran meanwhile is not counted', async () => {
    const harness = open();
    const { store } = harness;
    const [key, other] = [harness.newId('key'), harness.newId('key')];
    const running = harness.newId('res');
    await reserve(harness, key, [claimOf(harness, { amount: 90 })], { id: running });
    await reserve(harness, other, [claimOf(harness)]);
    await partOf(store, limitStore).reset(key);
    expect(await partOf(store, limitStore).status(key)).toEqual(new Map());
    expect(await reserve(harness, key, [claimOf(harness)])).toMatchObject({ isReserved: true });
    await partOf(store, limitStore).settle(running, { 'tokens/minute/*': 99 });
    expect([await usedOf(harness, key), await usedOf(harness, other)]).toEqual([
      { 'tokens/minute/*': 30 },
      { 'tokens/minute/*': 30 },
    ]);
  });

  it('apply a changed maximum to the window that has begun', async () => {
    const harness = open();
    const key = harness.newId('key');
    await reserve(harness, key, [claimOf(harness, { amount: 80 })]);
    expect(await reserve(harness, key, [claimOf(harness, { max: 50, amount: 1 })])).toMatchObject({
      isReserved: false,
      window: { used: 80 },
    });
    expect(await reserve(harness, key, [claimOf(harness, { max: 200 })])).toMatchObject({ isReserved: true });
  });

  it('end a window that a wrong clock began', async () => {
    const harness = open();
    const { clock } = harness;
    const key = harness.newId('key');
    clock.time += 10 * DAY;
    await reserve(harness, key, [claimOf(harness, { amount: 100 })]);
    clock.time -= 10 * DAY;
    expect(await reserve(harness, key, [claimOf(harness)])).toMatchObject({ isReserved: true });
    expect(await usedOf(harness, key)).toEqual({ 'tokens/minute/*': 30 });
  });

  it('count what an instance reserved that never settles', async () => {
    const harness = open();
    const { clock, store } = harness;
    const key = harness.newId('key');
    const id = harness.newId('res');
    const month = { name: 'month', resetsAt: clock.time + 30 * DAY, lengthMs: 31 * DAY };
    await reserve(harness, key, [claimOf(harness, month)], { id });
    clock.time += DAY;
    await store.sweep(100);
    expect(await partOf(store, limitStore).settle(id, { month: 1 })).toBe(false);
    expect(await usedOf(harness, key)).toEqual({ month: 30 });
  });
});

/** Others must not be written any more. */
const OPEN_RESERVATIONS = "select count(*) as count from limit_reservations where amounts <> '[]'";

/** As many as a busy team. */
const CLIENTS = 64;

describeStores('limits of keys with two instances', (open) => {
  it('never exceed the reserve, and lose nothing', async () => {
    const harness = open();
    const stores = [harness.store, await harness.openAnother()];
    const key = harness.newId('key');
    const names = ['tokens', 'requests', 'cost'];
    let granted = 0;
    let most = 0;
    let twice = 0;
    const client = async (index: number): Promise<void> => {
      const store = stores[index % 2]!;
      for (let round = 0; round < 4; round += 1) {
        const id = harness.newId(`res_${index}`);
        // Some know only two of the limits, in another order.
        const limits = names
          .filter((_, at) => at !== index % 4)
          .map((name) => claimOf(harness, { name, max: 300, amount: 10 }));
        const reserved = await reserve(harness, key, index % 2 === 0 ? limits : limits.toReversed(), {
          id,
          store,
        });
        if (!reserved.isReserved) continue;
        granted += 1;
        most = Math.max(most, ...[...reserved.windows.values()].map(({ used }) => used));
        // Both instances try: after a lost answer, neither knows what the other has done.
        const used = Object.fromEntries(names.map((name) => [name, 4]));
        const ended = await Promise.all(
          stores
            .map((one) => partOf(one, limitStore))
            .map((at) => (round % 2 === 0 ? at.settle(id, used) : at.giveBack(id))),
        );
        twice += ended.filter(Boolean).length === 1 ? 0 : 1;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
    expect(granted).toBeGreaterThan(30);
    expect({ isWithin: most <= 300, twice }).toEqual({ isWithin: true, twice: 0 });
    expect(await harness.sql(OPEN_RESERVATIONS)).toEqual([{ count: 0 }]);
    const settled = Math.max(...Object.values(await usedOf(harness, key)));
    expect(settled).toBeLessThanOrEqual(300);
  });

  it('grant exactly what fits when all ask at once', async () => {
    const harness = open();
    const stores = [harness.store, await harness.openAnother()];
    const key = harness.newId('key');
    const all = await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) =>
        reserve(harness, key, [claimOf(harness, { max: 100, amount: 3 })], { store: stores[index % 2]! }),
      ),
    );
    expect(all.filter(({ isReserved }) => isReserved)).toHaveLength(33);
    expect(await usedOf(harness, key)).toEqual({ 'tokens/minute/*': 99 });
  });
});
