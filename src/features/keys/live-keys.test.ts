import { afterEach, describe, expect, it } from 'vitest';

import { failureOf, gatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { KeyChanges, KeyRow, KeySecretRow } from './store.ts';
import { hashOf } from './key-secret.ts';
import { LiveKeys } from './live-keys.ts';
import { keyError } from './failures.ts';

const ID = `key_${'0a'.repeat(16)}`;
const OTHER_ID = `key_${'0b'.repeat(16)}`;
const HOUR = 3_600_000;

const rowOf = (id: string, version: number, different: Partial<KeyRow> = {}): KeyRow => ({
  id,
  version,
  hint: 'sk-proxy-…',
  createdAt: 0,
  expiresAt: null,
  pausedAt: null,
  revokedAt: null,
  lastUsedAt: null,
  body: JSON.stringify({ name: 'laptop', scopes: ['infer', 'read'], addresses: ['10.0.0.0/8'] }),
  ...different,
});

const secretOf = (keyId: string, secret: string, expiresAt: number | null = null): KeySecretRow => ({
  keyId,
  hash: hashOf(secret),
  expiresAt,
});

/** A store in memory, whose answers can fail or wait. */
const fakeStore = () => {
  const store = {
    version: 1,
    keys: [rowOf(ID, 1)] as KeyRow[],
    secrets: [secretOf(ID, 'first')] as KeySecretRow[],
    questions: [] as number[],
    written: [] as unknown[],
    isDown: false,
    hold: Promise.resolve(),
    async changedSince(since: number): Promise<KeyChanges> {
      store.questions.push(since);
      const { version } = store;
      const keys = store.keys.filter((row) => row.version > since);
      const secrets = store.secrets.filter(({ keyId }) => keys.some(({ id }) => id === keyId));
      await store.hold;
      if (store.isDown) throw gatewayError('store_unavailable');
      return { version, keys, secrets };
    },
    async used(uses: unknown): Promise<void> {
      await Promise.resolve();
      if (store.isDown) throw gatewayError('store_unavailable');
      store.written.push(uses);
    },
  };
  return store;
};

let opened: LiveKeys | null = null;
afterEach(async () => {
  await opened?.close();
  opened = null;
});

const open = async (store: ReturnType<typeof fakeStore>, pollMs = 2_147_483_647) => {
  const clock = { time: 1_000, now: () => clock.time };
  const troubles: unknown[] = [];
  const keys = await LiveKeys.open({
    store,
    clock,
    pollMs,
    onTrouble: (error) => troubles.push(failureOf(error).code),
    held: { onUnwritten() {}, onWritten() {}, onLost() {} },
  });
  opened = keys;
  return { keys, clock, troubles };
};

const refusal = (keys: LiveKeys, secret: string): Failure | null => {
  try {
    keys.bySecret(secret);
    return null;
  } catch (error) {
    return failureOf(error);
  }
};

describe('LiveKeys', () => {
  it('finds a key by its secret and by its id', async () => {
    const { keys } = await open(fakeStore());
    const found = keys.bySecret('first');
    expect(found?.key).toEqual({
      id: ID,
      name: 'laptop',
      hint: 'sk-proxy-…',
      scopes: ['infer', 'read'],
      addresses: ['10.0.0.0/8'],
      createdAt: 0,
      expiresAt: null,
      pausedAt: null,
      revokedAt: null,
      storageMb: null,
      workspaces: [],
      lastUsedAt: null,
    });
    expect(found?.caller).toEqual({ keyId: ID, scopes: new Set(['infer', 'read']) });
    expect(found?.ranges).toHaveLength(1);
    expect(keys.byId(ID)).toBe(found?.key);
    expect([keys.bySecret('other'), keys.byId(OTHER_ID)]).toEqual([null, null]);
  });

  it('has no refusal for a configured key, and one for a named key that was deleted', async () => {
    const { keys } = await open(fakeStore());
    expect(keys.refusalOf('key_0a0b0c0d')).toBe(null);
    expect(keys.refusalOf(ID)).toBe(null);
    expect(keys.refusalOf(OTHER_ID)?.failure).toEqual(keyError('key_revoked').failure);
  });

  it.each([
    [{ pausedAt: 5 }, 'key_paused'],
    [{ expiresAt: 1_000 }, 'key_expired'],
    [{ revokedAt: 5 }, 'key_revoked'],
  ] as const)('refuses %j with %s', async (different, code) => {
    const store = fakeStore();
    const { keys } = await open(store);
    store.version = 2;
    store.keys = [rowOf(ID, 2, different)];
    await keys.changed();
    expect(refusal(keys, 'first')).toEqual(keyError(code).failure);
    expect(keys.refusalOf(ID)?.failure).toEqual(keyError(code).failure);
  });

  it('ends earlier secrets after a rotation, and tells their owners', async () => {
    const store = fakeStore();
    const { keys, clock } = await open(store);
    store.version = 2;
    store.keys = [rowOf(ID, 2)];
    store.secrets = [secretOf(ID, 'first', 2_000), secretOf(ID, 'second')];
    await keys.changed();
    expect([refusal(keys, 'first'), refusal(keys, 'second')]).toEqual([null, null]);
    clock.time = 2_000;
    expect(refusal(keys, 'first')).toEqual(
      keyError('key_expired', {
        message: 'This API key was rotated, and the time to replace it is over. Use the new one.',
      }).failure,
    );
    expect(refusal(keys, 'second')).toBe(null);
    store.version = 3;
    store.keys = [rowOf(ID, 3)];
    store.secrets = [secretOf(ID, 'third')];
    await keys.changed();
    expect(['first', 'second', 'third'].map((one) => keys.bySecret(one)?.key.id)).toEqual([
      undefined,
      undefined,
      ID,
    ]);
  });

  it('asks the database once for many unknown keys, after their arrival', async () => {
    const store = fakeStore();
    const { keys } = await open(store);
    const first = keys.refresh();
    store.version = 2;
    store.keys.push(rowOf(OTHER_ID, 2));
    store.secrets.push(secretOf(OTHER_ID, 'other'));
    await Promise.all([first, ...Array.from({ length: 100 }, () => keys.refresh())]);
    expect(keys.bySecret('other')?.key.id).toBe(OTHER_ID);
    expect(store.questions.length).toBeLessThanOrEqual(3);
  });

  it('starts a new question for a key that arrives while one is under way', async () => {
    const store = fakeStore();
    const { keys } = await open(store);
    const held = Promise.withResolvers<void>();
    store.hold = held.promise;
    const first = keys.refresh();
    await expect.poll(() => store.questions.length).toBe(2);
    store.version = 2;
    store.keys.push(rowOf(OTHER_ID, 2));
    store.secrets.push(secretOf(OTHER_ID, 'other'));
    const second = keys.refresh();
    held.resolve();
    await first;
    expect(keys.bySecret('other')).toBe(null);
    await second;
    expect(keys.bySecret('other')?.key.id).toBe(OTHER_ID);
  });

  it('notices changes by others, and asks only for those', async () => {
    const store = fakeStore();
    const { keys } = await open(store, 5);
    store.version = 2;
    store.keys = [rowOf(ID, 2, { pausedAt: 1 })];
    await expect.poll(() => keys.refusalOf(ID)?.failure.code).toBe('key_paused');
    await expect.poll(() => store.questions.at(-1)).toBe(2);
  });

  it('reads everything again after a backup was restored', async () => {
    const store = fakeStore();
    store.version = 9;
    store.keys = [rowOf(ID, 8), rowOf(OTHER_ID, 9)];
    const { keys } = await open(store);
    expect(keys.byId(OTHER_ID)).not.toBe(null);
    store.version = 7;
    store.keys = [rowOf(ID, 7)];
    await keys.changed();
    expect([keys.byId(ID)?.id, keys.byId(OTHER_ID)]).toEqual([ID, null]);
  });

  it('goes on without the database for an hour, and reports the trouble once', async () => {
    const store = fakeStore();
    const { keys, clock, troubles } = await open(store, 1);
    store.isDown = true;
    const asked = store.questions.length;
    await expect.poll(() => store.questions.length).toBeGreaterThan(asked + 3);
    expect(troubles).toEqual(['store_unavailable']);
    await expect(keys.refresh()).rejects.toMatchObject({ failure: { kind: 'store_unavailable' } });
    clock.time += HOUR;
    expect([refusal(keys, 'first'), keys.refusalOf(ID)]).toEqual([null, null]);
    clock.time += 1;
    expect([refusal(keys, 'first')?.code, keys.refusalOf(ID)?.failure.code]).toEqual([
      'store_unavailable',
      'store_unavailable',
    ]);
    expect(keys.refusalOf('key_0a0b0c0d')).toBe(null);
    store.isDown = false;
    await expect.poll(() => keys.refusalOf(ID)).toBe(null);
  });

  it('writes the last use later, once a minute for each key, and at the end', async () => {
    const store = fakeStore();
    const { keys, clock } = await open(store, 1);
    clock.time = 100_000;
    keys.used(ID);
    keys.used(ID);
    expect(store.written).toEqual([]);
    await expect.poll(() => store.written).toEqual([[{ id: ID, at: 100_000 }]]);
    clock.time = 159_999;
    keys.used(ID);
    const asked = store.questions.length;
    await expect.poll(() => store.questions.length).toBeGreaterThan(asked + 3);
    expect(store.written).toHaveLength(1);
    clock.time = 160_000;
    keys.used(ID);
    await expect.poll(() => store.written.slice(1)).toEqual([[{ id: ID, at: 160_000 }]]);
    clock.time = 160_001;
    keys.used(ID);
    await keys.close();
    expect(store.written.slice(2)).toEqual([[{ id: ID, at: 160_001 }]]);
  });
});
