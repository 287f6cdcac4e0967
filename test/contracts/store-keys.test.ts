import { expect, it } from 'vitest';

import { type KeyRow, type KeyStore, keyStore, type NewKey } from '../../src/features/keys/store.ts';
import { DAY, describeStores, type StoreHarness } from '../support/store-harness.ts';
import { partOf } from '../../src/store/part.ts';

const MAX = 10_000;

const newKey = (harness: StoreHarness, different: Partial<NewKey> = {}): NewKey => ({
  id: harness.newId('key'),
  hint: 'sk-proxy-…ab12',
  createdAt: (harness.clock.time += 1),
  expiresAt: null,
  body: '{"name":"laptop"}',
  ...different,
});

/** A key whose secret has the hash `hash of ID`. */
const create = async (harness: StoreHarness, different: Partial<NewKey> = {}): Promise<KeyRow> => {
  const row = newKey(harness, different);
  const created = await partOf(harness.store, keyStore).create(row, `hash of ${row.id}`, MAX);
  if (created === null) throw new Error('the key was not created');
  return created;
};

const versionOf = async (keys: KeyStore): Promise<number> =>
  (await keys.changedSince(Number.MAX_SAFE_INTEGER)).version;

/** The hashes of a key's secrets, and when they end. */
const secretsOf = async (keys: KeyStore, { id }: KeyRow): Promise<Readonly<Record<string, number | null>>> =>
  Object.fromEntries(
    (await keys.changedSince(0)).secrets
      .filter(({ keyId }) => keyId === id)
      .map(({ hash, expiresAt }) => [hash, expiresAt]),
  );

const unchanged = ({ expiresAt, pausedAt, revokedAt, body }: KeyRow) => ({
  expiresAt,
  pausedAt,
  revokedAt,
  body,
});

describeStores('keys', (open) => {
  it('are created, found and changed', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const row = newKey(harness, { expiresAt: harness.clock.time + DAY });
    const created = await keys.create(row, 'hash', MAX);
    expect(created).toEqual({
      ...row,
      version: await versionOf(keys),
      pausedAt: null,
      revokedAt: null,
      lastUsedAt: null,
    });
    expect(await keys.find(row.id)).toEqual(created);
    const to = { expiresAt: null, pausedAt: 5, revokedAt: 6, body: '{"name":"\\u0000"}' };
    const changed = await keys.change(row.id, created!.version, to);
    expect(changed).toEqual({ ...created, ...to, version: created!.version + 1 });
    expect(await keys.find(row.id)).toEqual(changed);
    expect(await keys.find('key_unknown')).toBe(null);
  });

  it('are changed only from the version that was read', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const row = await create(harness);
    expect(await keys.change('key_unknown', row.version, unchanged(row))).toBe(null);
    const changes = await Promise.all(
      [1, 2, 3].map((pausedAt) => keys.change(row.id, row.version, { ...unchanged(row), pausedAt })),
    );
    expect(changes.filter((one) => one !== null)).toEqual([await keys.find(row.id)]);
  });

  it('are known after they expired', async () => {
    const harness = open();
    const row = await create(harness, { expiresAt: harness.clock.time + 1 });
    harness.clock.time += DAY;
    expect(await partOf(harness.store, keyStore).find(row.id)).toEqual(row);
  });

  it('are listed page by page, the newest first', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const rows = [await create(harness), await create(harness)];
    rows.push(await create(harness, { createdAt: rows[1]!.createdAt }));
    const newest = rows.toReversed();
    expect(await keys.list({ after: null, limit: 2 })).toEqual(newest.slice(0, 2));
    expect(await keys.list({ after: rows[2]!.id, limit: 2 })).toEqual(newest.slice(1));
    expect(await keys.list({ after: 'key_unknown', limit: 2 })).toEqual([]);
  });

  it('are reported to every instance after a change, with all of their secrets', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const other = partOf(await harness.openAnother(), keyStore);
    const seen = await versionOf(other);
    expect(await other.changedSince(seen)).toEqual({ version: seen, keys: [], secrets: [] });
    const one = await create(harness);
    const two = await create(harness);
    const { secrets, ...both } = await other.changedSince(seen);
    expect(both).toEqual({ version: two.version, keys: [one, two] });
    expect(new Set(secrets)).toEqual(
      new Set([one, two].map(({ id }) => ({ keyId: id, hash: `hash of ${id}`, expiresAt: null }))),
    );
    const changed = await keys.change(one.id, one.version, { ...unchanged(one), pausedAt: 1 });
    expect(await other.changedSince(two.version)).toEqual({
      version: changed!.version,
      keys: [changed],
      secrets: [{ keyId: one.id, hash: `hash of ${one.id}`, expiresAt: null }],
    });
  });

  it('are all counted when many are created at once, and keep their versions in order', async () => {
    const harness = open();
    const before = await versionOf(partOf(harness.store, keyStore));
    const stores = [harness.store, await harness.openAnother()];
    const rows = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const row = newKey(harness);
        return partOf(stores[index % 2]!, keyStore).create(row, `hash of ${row.id}`, MAX);
      }),
    );
    expect(rows.map((row) => row!.version).toSorted((a, b) => a - b)).toEqual(
      rows.map((_, index) => before + 1 + index),
    );
    const [{ keys: counted } = {}] = await harness.sql('select keys from api_key_state');
    expect(counted).toBe((await partOf(harness.store, keyStore).changedSince(0)).keys.length);
  });

  it('keep earlier secrets until the end of the overlap', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const row = await create(harness);
    const first = `hash of ${row.id}`;
    const until = harness.clock.time + DAY;
    const rotated = await keys.rotate(row.id, { hash: 'second', hint: 'b', until });
    expect(rotated).toEqual({ ...row, hint: 'b', version: row.version + 1 });
    expect(await secretsOf(keys, row)).toEqual({ [first]: until, second: null });
    await keys.rotate(row.id, { hash: 'third', hint: 'c', until: until + DAY });
    expect(await secretsOf(keys, row)).toEqual({ [first]: until, second: until + DAY, third: null });
    harness.clock.time = until;
    await keys.rotate(row.id, { hash: 'fourth', hint: 'd', until: until + 1 });
    const ended = { [first]: until, second: until + 1, third: until + 1 };
    expect(await secretsOf(keys, row)).toEqual({ ...ended, fourth: null });
  });

  it('have at most ten secrets, of which the newest are kept', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const row = await create(harness);
    for (let count = 1; count <= 12; count += 1) {
      harness.clock.time += 1;
      await keys.rotate(row.id, {
        hash: `${row.id} ${count}`,
        hint: '',
        until: harness.clock.time + DAY,
      });
    }
    expect(Object.keys(await secretsOf(keys, row)).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, index) => `${row.id} ${index + 3}`).toSorted(),
    );
  });

  it('get no new secret after they were revoked', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const row = await create(harness);
    await keys.change(row.id, row.version, { ...unchanged(row), revokedAt: 1 });
    expect(await keys.rotate(row.id, { hash: 'more', hint: '', until: 1 })).toBe(null);
    expect(await keys.rotate('key_unknown', { hash: 'more', hint: '', until: 1 })).toBe(null);
    expect(await secretsOf(keys, row)).toEqual({ [`hash of ${row.id}`]: null });
  });

  it('remember the last use, which is not a change', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const [one, two] = [await create(harness), await create(harness)];
    const version = await versionOf(keys);
    await keys.used([
      { id: one.id, at: 20 },
      { id: 'key_unknown', at: 20 },
      { id: two.id, at: 30 },
    ]);
    await keys.used([{ id: one.id, at: 10 }]);
    expect(await keys.find(one.id)).toEqual({ ...one, lastUsedAt: 20 });
    expect(await keys.find(two.id)).toEqual({ ...two, lastUsedAt: 30 });
    expect(await versionOf(keys)).toBe(version);
  });

  it('are bounded: the one that was revoked first makes room', async () => {
    const harness = open();
    const keys = partOf(harness.store, keyStore);
    const [one, two] = [await create(harness), await create(harness)];
    const max = (await keys.changedSince(0)).keys.length;
    // Other tests revoked some.
    await harness.sql('update api_keys set revoked_at = null');
    expect(await keys.create(newKey(harness), 'no room', max)).toBe(null);
    await keys.change(two.id, two.version, { ...unchanged(two), revokedAt: 1 });
    await keys.change(one.id, one.version, { ...unchanged(one), revokedAt: 2 });
    const row = newKey(harness);
    expect(await keys.create(row, 'room', max)).not.toBe(null);
    expect(await keys.find(two.id)).toBe(null);
    const { keys: all, secrets } = await keys.changedSince(0);
    expect(all).toHaveLength(max);
    expect(secrets.filter(({ keyId }) => keyId === two.id)).toEqual([]);
    expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining([one.id, row.id]));
  });
});
