import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

import { describe, expect, it, vi } from 'vitest';

import { requestStore } from '../features/request-log/store.ts';
import { stateStoreOf } from '../features/state/store/state-store.ts';
import { usageStore } from '../features/usage/store.ts';
import { partOf } from './part.ts';
import type { Store } from './store.ts';
import { KeyIds, withShownIds } from './key-ids.ts';

const SECRET = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);
const OWNER = 'key_0a0b0c0d';
const NAMED = `key_${'0a'.repeat(16)}`;

describe('the id of a configured key', () => {
  it('depends on the key and on the secret, and is always the same', () => {
    const ids = new KeyIds([SECRET]);
    expect(ids.of('one')).toMatch(/^key_[\w-]{22}$/);
    expect(new KeyIds([SECRET]).of('one')).toBe(ids.of('one'));
    expect(new Set([ids.of('one'), ids.of('two'), new KeyIds([OTHER]).of('one')]).size).toBe(3);
  });

  it('leads back to the owner of rows, with each of the secrets', () => {
    const ids = new KeyIds([SECRET]);
    const before = ids.shown(OWNER);
    expect(ids.ownerOf(before)).toBe(OWNER);
    ids.use([OTHER, SECRET]);
    const after = ids.shown(OWNER);
    expect(after).not.toBe(before);
    expect([before, after].map((shown) => ids.ownerOf(shown))).toEqual([OWNER, OWNER]);
    expect(new KeyIds([OTHER]).ownerOf(before)).toBe(before);
  });

  it('is made once, and read once, until there are other secrets', () => {
    const ids = new KeyIds([SECRET]);
    const calls = (['createCipheriv', 'createDecipheriv'] as const).map((name) => vi.spyOn(crypto, name));
    syncBuiltinESMExports();
    const made = (): readonly number[] => calls.map(({ mock }) => mock.calls.length);
    try {
      const shown = ids.shown(OWNER);
      for (let count = 0; count < 3; count += 1)
        expect([ids.shown(OWNER), ids.ownerOf(shown)]).toEqual([shown, OWNER]);
      expect(made()).toEqual([1, 1]);
      ids.use([OTHER]);
      expect([ids.ownerOf(shown), ids.shown(OWNER) === shown]).toEqual([shown, false]);
      expect(made()).toEqual([2, 2]);
      // It is remembered no more than the others.
      for (let count = 0; count < 2_000; count += 1) ids.shown(`key_${String(count).padStart(8, '0')}`);
      ids.shown(OWNER);
      expect(made()).toEqual([2_003, 2]);
    } finally {
      for (const call of calls) call.mockRestore();
      syncBuiltinESMExports();
    }
  });

  it.each([NAMED, '', 'key_a', 'conv_0a0b0c0d', `key_${'A'.repeat(22)}`])('is not made of %j', (text) => {
    const ids = new KeyIds([SECRET]);
    expect([ids.shown(text), ids.ownerOf(text)]).toEqual([text, text]);
  });
});

describe('a store with shown ids', () => {
  const asked: unknown[] = [];
  const answering =
    (answer: unknown) =>
    (...args: readonly unknown[]) => {
      asked.push(args);
      return Promise.resolve(answer);
    };
  const ids = new KeyIds([SECRET]);
  const shown = ids.shown(OWNER);
  const body = JSON.stringify({ owner: OWNER });
  const store = withShownIds(
    {
      kind: 'sqlite',
      turns: { size: answering(7) },
      responses: { take: answering([{ owner: OWNER, body }]), find: answering(null) },
      requests: { list: answering([{ keyId: OWNER }, { keyId: null }, { keyId: NAMED }]) },
      usage: { sums: answering([{ keyId: OWNER, requests: 1 }]), put: answering(undefined) },
      chats: { find: answering({ id: 'x', metadata: { owner: OWNER } }) },
      watch: () => () => {},
    } as unknown as Store,
    ids,
  );

  const { turns, responses, chats } = stateStoreOf(store);
  const usage = partOf(store, usageStore);
  const requests = partOf(store, requestStore);

  it('translates shown ids to the owners of its rows, and back', async () => {
    expect(store.kind).toBe('sqlite');
    await turns.size(shown, { segment: shown, pos: 0 });
    await usage.sums({ keyIds: [shown, NAMED], by: ['keyId'] } as never);
    await usage.put([{ keyId: shown }, { keyId: '' }] as never);
    await requests.list({ keyId: shown } as never);
    expect(asked).toEqual([
      [OWNER, { segment: shown, pos: 0 }],
      [{ keyIds: [OWNER, NAMED], by: ['keyId'] }],
      [[{ keyId: OWNER }, { keyId: '' }]],
      [{ keyId: OWNER }],
    ]);
  });

  it('shows them with the other ids, and leaves content alone', async () => {
    expect(await responses.take({} as never, [])).toEqual([{ owner: shown, body }]);
    expect(await responses.find(shown, 'x')).toBe(null);
    expect(await requests.list({} as never)).toEqual([{ keyId: shown }, { keyId: null }, { keyId: NAMED }]);
    expect(await usage.sums({} as never)).toEqual([{ keyId: shown, requests: 1 }]);
    expect(await chats.find(shown, 'x')).toEqual({ id: 'x', metadata: { owner: OWNER } });
  });
});
