import { expect, it, vi } from 'vitest';

import { failureOf, gatewayError } from '../../src/canonical/failure/failure.ts';
import { KeyAdmin } from '../../src/features/keys/key-admin.ts';
import { LiveKeys } from '../../src/features/keys/live-keys.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import type { Store } from '../../src/store/store.ts';
import { describeStores, type StoreHarness } from '../support/store-harness.ts';
import { until } from '../support/until.ts';
import { partOf } from '../../src/store/part.ts';
import { type KeyStore, keyStore } from '../../src/features/keys/store.ts';
import { limitStore } from '../../src/features/keys/limit-store.ts';

/** An instance, with a database that can be made read-only. */
const instanceOf = async ({ clock }: StoreHarness, store: Store) => {
  const reports: string[] = [];
  const disk = { isFull: false };
  const change: KeyStore['change'] = (...args) =>
    disk.isFull ? Promise.reject(gatewayError('store_unavailable')) : partOf(store, keyStore).change(...args);
  const keys = { ...partOf(store, keyStore), change };
  const live = await LiveKeys.open({
    store: keys,
    clock,
    pollMs: 2_147_483_647,
    onTrouble: (error) => reports.push(failureOf(error).code),
    held: {
      onUnwritten: (_id, hold) => reports.push(`${hold} unwritten`),
      onWritten: (_id, hold) => reports.push(`${hold} written`),
      onLost: (_id, hold) => reports.push(`${hold} lost`),
      retryMs: 10,
    },
  });
  store.watch((announcement, what) => {
    if (what === 'key') live.heard(announcement);
  });
  const admin = new KeyAdmin({
    store: keys,
    limits: partOf(store, limitStore),
    ambient: { clock, ids: systemAmbient.ids },
    onChanged: () => live.changed(),
    live,
  });
  return { live, admin, disk, reports };
};

const refusal = ({ live }: { readonly live: LiveKeys }, id: string): string | null =>
  live.refusalOf(id)?.failure.code ?? null;

describeStores('keys on a full disk', (open) => {
  it.each(['revoke', 'pause'] as const)(
    'are refused at once after %s, which is written later',
    async (how) => {
      const harness = open();
      const one = await instanceOf(harness, harness.store);
      const { key, secret } = await one.admin.create({ name: 'a' });
      const two = await instanceOf(harness, await harness.openAnother());
      const hold = how === 'revoke' ? 'revoked' : 'paused';
      one.disk.isFull = true;
      const stopped = await one.admin[how](key.id);
      expect(stopped.unwritten?.failure.code).toBe('store_unavailable');
      expect(refusal(one, key.id)).toBe(`key_${hold}`);
      expect(() => one.live.bySecret(secret)).toThrow(how === 'revoke' ? 'was revoked' : 'is paused');
      expect(await one.admin.find(key.id)).toEqual(stopped.key);
      // What others change meanwhile does not undo it.
      await two.admin.change(key.id, { note: 'changed' });
      await one.live.changed();
      expect(refusal(one, key.id)).toBe(`key_${hold}`);
      one.disk.isFull = false;
      await until(() => one.reports.includes(`${hold} written`));
      await two.live.changed();
      expect([refusal(one, key.id), refusal(two, key.id)]).toEqual([`key_${hold}`, `key_${hold}`]);
      expect(one.reports).toEqual([`${hold} unwritten`, `${hold} written`]);
      if (how === 'pause') {
        await two.admin.resume(key.id);
        await one.live.changed();
        expect([refusal(one, key.id), refusal(two, key.id)]).toEqual([null, null]);
      }
      await Promise.all([one.live.close(), two.live.close()]);
    },
  );

  it('can be resumed before their pause was written', async () => {
    const harness = open();
    const one = await instanceOf(harness, harness.store);
    const { key } = await one.admin.create({ name: 'b' });
    one.disk.isFull = true;
    await one.admin.pause(key.id);
    expect(refusal(one, key.id)).toBe('key_paused');
    expect(await one.admin.resume(key.id)).toEqual(key);
    expect(refusal(one, key.id)).toBeNull();
    await one.live.close();
    expect(one.reports).toEqual(['paused unwritten']);
  });

  it('stay resumed if the pause was about to be written', async () => {
    const harness = open();
    const one = await instanceOf(harness, harness.store);
    const { key } = await one.admin.create({ name: 'e' });
    const later = vi.spyOn(one.live.held, 'writeLater');
    one.disk.isFull = true;
    await one.admin.pause(key.id);
    const [[, write] = []] = later.mock.calls;
    one.disk.isFull = false;
    // It is tried again while the resumption waits for the database.
    await Promise.all([one.admin.resume(key.id), write?.()]);
    expect([refusal(one, key.id), (await one.admin.find(key.id)).pausedAt]).toEqual([null, null]);
    await one.live.close();
  });

  it('are reported as lost if the process ends before', async () => {
    const harness = open();
    const one = await instanceOf(harness, harness.store);
    const { key } = await one.admin.create({ name: 'c' });
    one.disk.isFull = true;
    await one.admin.revoke(key.id);
    await one.live.close();
    expect(one.reports).toEqual(['revoked unwritten', 'revoked lost']);
  });
});

describeStores(
  'other instances',
  (open) => {
    it('refuse a key that could not be written at once, and accept it after its resumption', async () => {
      const harness = open();
      const one = await instanceOf(harness, harness.store);
      const { key } = await one.admin.create({ name: 'd' });
      const two = await instanceOf(harness, await harness.openAnother());
      one.disk.isFull = true;
      await one.admin.pause(key.id);
      await until(() => refusal(two, key.id) === 'key_paused');
      await one.admin.resume(key.id);
      await until(() => refusal(two, key.id) === null);
      await one.admin.revoke(key.id);
      await until(() => refusal(two, key.id) === 'key_revoked');
      // A change of something else does not make it usable again.
      await two.admin.change(key.id, { note: 'changed' });
      expect(refusal(two, key.id)).toBe('key_revoked');
      await Promise.all([one.live.close(), two.live.close()]);
    });
  },
  { kinds: ['postgres'] },
);
