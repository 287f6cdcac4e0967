import { describe, expect, it } from 'vitest';

import { NO_CACHE, turnOf } from '../../../../test/support/turn-request.ts';
import type { Turn } from '../../../canonical/context/turn-context.ts';
import { affinityKey, sessionOf, type AffinityKey, type AffinityOptions } from './affinity.ts';
import { uuidV7 } from './uuid-v7.ts';

const withKey = (value: string): Turn =>
  turnOf({
    conversation: 'c',
    cache: { ...NO_CACHE, key: value },
  });

const cacheIds = { idOf: async (key: string) => `id of ${key}` };
const PROVIDER: AffinityOptions = { cacheIds, cacheKeys: 'any' };
const CHATGPT: AffinityOptions = { cacheIds, cacheKeys: 'uuid' };

const keyOf = async (turn: Turn, options: AffinityOptions): Promise<AffinityKey> =>
  affinityKey(turn, await sessionOf(turn, options, NOW), options.cacheKeys);

const LONG = 'k'.repeat(65);
const NOW = Date.UTC(2026, 10);
const OWN_UUID = uuidV7(NOW);
const LATER_UUID = uuidV7(NOW + 48 * 60 * 60 * 1000);

describe('the affinity key', () => {
  it.each([
    ['is the id of the conversation', turnOf({ conversation: 'c' }), PROVIDER, 'id of c', 'id of c'],
    ['is so for a login too', turnOf({ conversation: 'c' }), CHATGPT, 'id of c', 'id of c'],
    [
      'is the key of the client as it is in the body, and never in headers',
      withKey('my key\r\nx-evil: 1 ✨'),
      PROVIDER,
      'my key\r\nx-evil: 1 ✨',
      'id of c',
    ],
    [
      'is short enough for a backend',
      withKey(LONG),
      PROVIDER,
      expect.stringMatching(/^[0-9a-f]{64}$/),
      'id of c',
    ],
    ['is the id where other keys would be replaced', withKey('my key'), CHATGPT, 'id of c', 'id of c'],
    ['is the UUID of the client', withKey(OWN_UUID), CHATGPT, OWN_UUID, OWN_UUID],
    ['is not a UUID from the future', withKey(LATER_UUID), CHATGPT, 'id of c', 'id of c'],
    ['is the UUID of the client for a provider', withKey(OWN_UUID), PROVIDER, OWN_UUID, OWN_UUID],
  ])('%s', async (_, turn, options, cacheKey, session) => {
    expect(await keyOf(turn, options)).toEqual({ cacheKey, session });
  });

  it('distinguishes long keys of the client', async () => {
    const [one, other] = [
      await keyOf(withKey(`${LONG}a`), PROVIDER),
      await keyOf(withKey(`${LONG}b`), PROVIDER),
    ];
    expect(one.cacheKey).not.toBe(other.cacheKey);
  });
});
