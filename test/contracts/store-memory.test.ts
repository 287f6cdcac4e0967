import { expect, it } from 'vitest';

import { DAY, describeStores } from '../support/store-harness.ts';

describeStores('events', (open) => {
  it('are read after a number, at least one batch and then up to a size', async () => {
    const { store, clock, newId } = open();
    const id = newId('resp');
    const batches = [
      { first: 0, last: 3, body: 'a'.repeat(100) },
      { first: 4, last: 4, body: 'b'.repeat(50) },
      { first: 5, last: 9, body: 'c\0'.repeat(50) },
    ];
    for (const batch of batches) await store.events.append('alice', id, batch, clock.time + DAY);
    expect(await store.events.after(id, -1, 1_000)).toEqual(batches);
    expect(await store.events.after(id, -1, 150)).toEqual(batches.slice(0, 2));
    expect(await store.events.after(id, -1, 1)).toEqual(batches.slice(0, 1));
    expect(await store.events.after(id, 3, 1_000)).toEqual(batches.slice(1));
    expect(await store.events.after(id, 6, 1_000)).toEqual(batches.slice(2));
    expect(await store.events.after(id, 9, 1_000)).toEqual([]);
    expect(await store.events.after(id, 999_999_999_999_999, 1_000)).toEqual([]);
    expect(await store.events.after('resp_unknown', -1, 1_000)).toEqual([]);
  });

  it('are written once', async () => {
    const { store, clock, newId } = open();
    const id = newId('resp');
    const batch = { first: 0, last: 1, body: 'one' };
    await store.events.append('alice', id, batch, clock.time + DAY);
    await store.events.append('alice', id, batch, clock.time + DAY);
    await expect(
      store.events.append('alice', id, { ...batch, body: 'two' }, clock.time + DAY),
    ).rejects.toThrow('server had an error');
    expect(await store.events.after(id, -1, 1_000)).toEqual([batch]);
  });

  it('expire together', async () => {
    const { store, clock, newId } = open();
    const id = newId('resp');
    await store.events.append('alice', id, { first: 0, last: 0, body: 'a' }, clock.time + DAY);
    await store.events.append('alice', id, { first: 1, last: 1, body: 'b' }, clock.time + 2 * DAY);
    await store.events.expire(id, clock.time + 10);
    expect(await store.events.after(id, -1, 10)).toHaveLength(2);
    clock.time += 10;
    expect(await store.events.after(id, -1, 10)).toEqual([]);
  });
});

describeStores('memory', (open) => {
  it('keeps values by kind and key until they expire', async () => {
    const { store, clock, newId } = open();
    const [a, b] = [newId('key'), newId('key')];
    await store.memory.put('reasoning', a, 'one', clock.time + DAY);
    await store.memory.put('reasoning', a, 'two', clock.time + DAY);
    await store.memory.put('reasoning', b, 'three\0', clock.time + 2 * DAY);
    expect(await store.memory.get('reasoning', [a, b, 'unknown', a])).toEqual(
      new Map([
        [a, 'two'],
        [b, 'three\0'],
      ]),
    );
    expect(await store.memory.get('cache-id', [a])).toEqual(new Map());
    expect(await store.memory.get('reasoning', [])).toEqual(new Map());
    clock.time += DAY;
    expect(await store.memory.get('reasoning', [a, b])).toEqual(new Map([[b, 'three\0']]));
    await store.memory.drop('reasoning', [b, 'unknown']);
    expect(await store.memory.get('reasoning', [b])).toEqual(new Map());
  });

  it('gives all that claim a key the same value', async () => {
    const { store, clock, newId } = open();
    const key = newId('key');
    const claim = (value: string, milliseconds: number): Promise<string> =>
      store.memory.claim('cache-id', key, value, clock.time + milliseconds);
    const claimed = await Promise.all(['a', 'b', 'c', 'd'].map((value) => claim(value, DAY)));
    expect(new Set(claimed).size).toBe(1);
    expect(await claim('e', 2 * DAY)).toBe(claimed[0]);
    expect(await claim('f', 1)).toBe(claimed[0]);
    clock.time += 2 * DAY - 1;
    expect(await claim('g', 1)).toBe(claimed[0]);
    clock.time += 1;
    expect(await claim('h', DAY)).toBe('h');
  });

  it('finds many keys at once', async () => {
    const { store, clock, newId } = open();
    const keys = Array.from({ length: 700 }, () => newId('key'));
    await Promise.all(keys.map((key) => store.memory.put('reasoning', key, key, clock.time + DAY)));
    expect(await store.memory.get('reasoning', keys)).toEqual(new Map(keys.map((key) => [key, key])));
    await store.memory.drop('reasoning', keys);
    expect(await store.memory.get('reasoning', keys)).toEqual(new Map());
  });
});
