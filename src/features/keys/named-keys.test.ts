import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { parseRange, createTrustedProxies } from '../../http/guards/client-address.ts';
import type { Caller } from '../../http/guards/scopes.ts';
import type { ApiKey } from './key.ts';
import type { LoadedKey } from './live-keys.ts';
import { configuredKeysOf, unknownKey } from '../../http/guards/authenticate.ts';
import { acceptNamedKeys } from './named-keys.ts';
import { keyError } from './failures.ts';

const secret = (letter: string): string => `sk-proxy-${letter.repeat(43)}`;

const loaded = (keyId: string, ...ranges: readonly string[]): LoadedKey => ({
  key: { id: keyId } as ApiKey,
  caller: { keyId, scopes: new Set(['infer']) },
  ranges: ranges.map((range) => parseRange(range)!),
});

/** Knows `known`, learns of `later` by a refresh, and cannot use `paused`. */
const harness = () => {
  const seen = { refreshes: 0, used: [] as string[], refused: [] as unknown[] };
  const known = new Map([
    [secret('a'), loaded('key_a')],
    [secret('b'), loaded('key_b', '10.0.0.0/8')],
  ]);
  const authenticate = acceptNamedKeys({
    configured: configuredKeysOf(['configured-key-1'], { of: () => 'key_configured' }).find,
    keys: {
      bySecret(text) {
        if (text === secret('p')) throw keyError('key_paused');
        return known.get(text) ?? null;
      },
      async refresh() {
        seen.refreshes += 1;
        await Promise.resolve();
        known.set(secret('l'), loaded('key_l'));
      },
      used: (keyId) => seen.used.push(keyId),
    },
    proxies: createTrustedProxies(['127.0.0.1']),
    onWrongAddress: (facts) => seen.refused.push(facts),
  });
  const ask = async (headers: Record<string, string>, address = '192.0.2.1'): Promise<Caller> =>
    authenticate({
      method: 'GET',
      url: 'http://localhost/v1/models',
      headers: new Headers(headers),
      address,
    });
  return { ask, seen };
};

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

describe('acceptNamedKeys', () => {
  it('accepts configured and named keys, and notes the use of named ones', async () => {
    const { ask, seen } = harness();
    expect((await ask(bearer('configured-key-1'))).scopes).toEqual(new Set(['infer', 'read', 'admin']));
    expect(await ask(bearer(secret('a')))).toEqual({ keyId: 'key_a', scopes: new Set(['infer']) });
    expect(await ask({ 'x-api-key': secret('a') })).toEqual({ keyId: 'key_a', scopes: new Set(['infer']) });
    expect(await ask({ ...bearer(secret('z')), 'x-api-key': secret('a') })).toEqual({
      keyId: 'key_a',
      scopes: new Set(['infer']),
    });
    expect(seen).toEqual({ refreshes: 0, used: ['key_a', 'key_a', 'key_a'], refused: [] });
  });

  it('looks again for a key that it does not know', async () => {
    const { ask, seen } = harness();
    expect((await ask(bearer(secret('l')))).keyId).toBe('key_l');
    await expect(ask(bearer(secret('z')))).rejects.toEqual(unknownKey(new Headers(bearer(secret('z')))));
    expect(seen.refreshes).toBe(2);
  });

  it('does not look again for what cannot be a named key', async () => {
    const { ask, seen } = harness();
    for (const headers of [{}, bearer('sk-proxy-short'), bearer(`${secret('z')}x`), bearer('sk-other')])
      await expect(ask(headers)).rejects.toEqual(unknownKey(new Headers(headers)));
    expect(seen.refreshes).toBe(0);
  });

  it('says why a known key cannot be used', async () => {
    const { ask, seen } = harness();
    await expect(ask(bearer(secret('p')))).rejects.toThrow(keyError('key_paused').failure.message);
    expect(seen).toEqual({ refreshes: 0, used: [], refused: [] });
  });

  it('accepts a key with addresses only from those', async () => {
    const { ask, seen } = harness();
    const problem = await ask(bearer(secret('b'))).catch(failureOf);
    expect(problem).toEqual(keyError('address_not_allowed').failure);
    expect(seen.refused).toEqual([{ keyId: 'key_b', address: '192.0.2.1' }]);
    expect((await ask(bearer(secret('b')), '::ffff:10.1.2.3')).keyId).toBe('key_b');
    const forwarded = { ...bearer(secret('b')), 'x-forwarded-for': '10.1.2.3' };
    expect((await ask(forwarded, '127.0.0.1')).keyId).toBe('key_b');
    await expect(ask(forwarded, '192.0.2.1')).rejects.toThrow(
      'This API key cannot be used from your address.',
    );
    expect(seen.used).toEqual(['key_b', 'key_b']);
  });
});
