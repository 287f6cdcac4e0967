import { expect, it } from 'vitest';

import { failureOf, type Failure } from '../../src/canonical/failure/failure.ts';
import { KeyAdmin } from '../../src/features/keys/key-admin.ts';
import { type HeldKeysOptions, LiveKeys } from '../../src/features/keys/live-keys.ts';
import { hashOf } from '../../src/features/keys/key-secret.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import type { Store } from '../../src/store/store.ts';
import { DAY, describeStores, type StoreHarness } from '../support/store-harness.ts';
import { partOf } from '../../src/store/part.ts';
import { keyStore } from '../../src/features/keys/store.ts';
import { limitStore } from '../../src/features/keys/limit-store.ts';
import { keyError } from '../../src/features/keys/failures.ts';

const adminOf = ({ clock }: StoreHarness, store: Store, onChanged?: () => Promise<void>): KeyAdmin =>
  new KeyAdmin({
    store: partOf(store, keyStore),
    limits: partOf(store, limitStore),
    ambient: { clock, ids: systemAmbient.ids },
    ...(onChanged === undefined ? {} : { onChanged }),
  });

/** The keys of an instance that does not look for changes by itself. */
const liveOf = (
  { clock }: StoreHarness,
  store: Store,
  held: Partial<HeldKeysOptions> = {},
): Promise<LiveKeys> =>
  LiveKeys.open({
    store: partOf(store, keyStore),
    clock,
    pollMs: 2_147_483_647,
    onTrouble(error) {
      throw error;
    },
    held: { onUnwritten() {}, onWritten() {}, onLost() {}, retryMs: 10, ...held },
  });

const refusal = async (doing: Promise<unknown>): Promise<Failure> => {
  try {
    await doing;
  } catch (error) {
    return failureOf(error);
  }
  throw new Error('nothing was refused');
};

describeStores('administrators of keys', (open) => {
  it('create, change, pause, resume and revoke', async () => {
    const harness = open();
    const live = await liveOf(harness, harness.store);
    const admin = adminOf(harness, harness.store, () => live.changed());
    const { key, secret } = await admin.create({ name: 'laptop', note: 'Ada', scopes: ['infer', 'read'] });
    expect(key).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
      name: 'laptop',
      note: 'Ada',
      hint: `sk-proxy-…${secret.slice(-4)}`,
      scopes: ['infer', 'read'],
      models: [],
      workspaces: [],
      effort: null,
      addresses: [],
      concurrency: null,
      limits: [],
      storageMb: null,
      createdAt: harness.clock.time,
      expiresAt: null,
      pausedAt: null,
      revokedAt: null,
      lastUsedAt: null,
    });
    expect(live.bySecret(secret)?.key).toEqual(key);
    const changed = await admin.change(key.id, { note: 'Bob', models: ['gpt-*'] });
    expect(changed).toEqual({ ...key, note: 'Bob', models: ['gpt-*'] });
    expect(live.byId(key.id)).toEqual(changed);
    const pausedAt = harness.clock.time;
    expect((await admin.pause(key.id)).key).toEqual({ ...changed, pausedAt });
    harness.clock.time += 1;
    expect((await admin.pause(key.id)).key).toEqual({ ...changed, pausedAt });
    expect(live.refusalOf(key.id)?.failure).toEqual(keyError('key_paused').failure);
    expect(await admin.resume(key.id)).toEqual(changed);
    expect(live.refusalOf(key.id)).toBe(null);
    expect(await admin.reset(key.id)).toEqual(changed);
    const { key: revoked } = await admin.revoke(key.id);
    expect(revoked).toEqual({ ...changed, revokedAt: harness.clock.time });
    expect((await admin.revoke(key.id)).key).toEqual(revoked);
    expect(await admin.find(key.id)).toEqual(revoked);
    const refused = await Promise.all(
      [
        admin.change(key.id, { note: '' }),
        admin.pause(key.id),
        admin.resume(key.id),
        admin.rotate(key.id, 0),
      ].map(refusal),
    );
    expect(refused).toEqual(refused.map(() => keyError('key_already_revoked').failure));
    await live.close();
  });

  it('never store a secret', async () => {
    const harness = open();
    const { secret } = await adminOf(harness, harness.store).create({ name: 'hidden' });
    const rows = JSON.stringify([
      await harness.sql('select * from api_keys'),
      await harness.sql('select * from api_key_secrets'),
    ]);
    expect(rows).toContain(hashOf(secret));
    expect(rows).not.toContain(secret);
  });

  it('do not lose changes that are made at the same time', async () => {
    const harness = open();
    const admins = [adminOf(harness, harness.store), adminOf(harness, await harness.openAnother())] as const;
    const { key } = await admins[0].create({ name: 'busy' });
    await Promise.all([
      admins[0].change(key.id, { note: 'note' }),
      admins[1].change(key.id, { models: ['m'] }),
      admins[0].change(key.id, { concurrency: 3 }),
      admins[1].pause(key.id),
    ]);
    expect(await admins[0].find(key.id)).toEqual({
      ...key,
      note: 'note',
      models: ['m'],
      concurrency: 3,
      pausedAt: harness.clock.time,
    });
  });

  it('can revoke a key while it is changed all the time', async () => {
    const harness = open();
    const admin = adminOf(harness, harness.store);
    const { key } = await admin.create({ name: 'busy' });
    const changes = Array.from({ length: 50 }, (_, index) => [
      admin.change(key.id, { note: String(index) }),
      admin.rotate(key.id, 0),
    ]).flat();
    const revoked = [admin.revoke(key.id), admin.revoke(key.id)];
    await Promise.all(changes);
    const last = { note: '49', revokedAt: harness.clock.time };
    expect(await Promise.all(revoked)).toMatchObject([{ key: last }, { key: last }]);
  });

  it('rotate with an overlap, under the same id', async () => {
    const harness = open();
    const live = await liveOf(harness, harness.store);
    const admin = adminOf(harness, harness.store, () => live.changed());
    const first = await admin.create({ name: 'rotated' });
    const second = await admin.rotate(first.key.id, DAY);
    expect(second.key).toEqual({ ...first.key, hint: `sk-proxy-…${second.secret.slice(-4)}` });
    const found = () => [first, second].map(({ secret }) => live.bySecret(secret)?.key.id);
    expect(found()).toEqual([first.key.id, first.key.id]);
    harness.clock.time += DAY;
    expect(() => live.bySecret(first.secret)).toThrow('was rotated');
    expect(live.bySecret(second.secret)?.key.id).toBe(first.key.id);
    const third = await admin.rotate(first.key.id, 0);
    expect(() => live.bySecret(second.secret)).toThrow('was rotated');
    expect(live.bySecret(third.secret)?.key.id).toBe(first.key.id);
    await live.close();
  });

  it('are heard by other instances when an unknown key arrives', async () => {
    const harness = open();
    const other = await harness.openAnother();
    const live = await liveOf(harness, other);
    const { key, secret } = await adminOf(harness, harness.store).create({ name: 'elsewhere' });
    expect(live.bySecret(secret)).toBe(null);
    await live.refresh();
    expect(live.bySecret(secret)?.key).toEqual(key);
    live.used(key.id);
    await live.close();
    expect((await adminOf(harness, harness.store).find(key.id)).lastUsedAt).toBe(harness.clock.time);
  });

  it('hear what they did wrong', async () => {
    const harness = open();
    const admin = adminOf(harness, harness.store);
    expect(await refusal(admin.find('key_1'))).toEqual(keyError('unknown_key').failure);
    expect(await refusal(admin.rotate('key_1', 0))).toEqual(keyError('unknown_key').failure);
    expect((await refusal(admin.create({ name: 'x', colour: 1 }))).param).toBe('colour');
    expect((await refusal(admin.list({ after: 'key_1', limit: 1 }))).param).toBe('after');
  });
});
