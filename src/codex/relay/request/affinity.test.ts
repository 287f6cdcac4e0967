import { describe, expect, it } from 'vitest';

import { NO_CACHE, turnOf } from '../../../../test/support/turn-request.ts';
import type { Turn } from '../../../canonical/context/turn-context.ts';
import {
  affinityKey,
  sessionOf,
  type AffinityKey,
  type AffinityOptions,
  uuidV7,
  isRealUuidV7,
  UUID_V7,
} from './affinity.ts';

describe('the affinity key', () => {
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

describe('a UUID of version 7', () => {
  const NOW = Date.UTC(2026, 10, 5, 12, 30);

  it('starts with its creation time and is random otherwise', () => {
    const [one, two] = [uuidV7(NOW), uuidV7(NOW)];
    expect(one).toMatch(UUID_V7);
    expect(Number.parseInt(one.replaceAll('-', '').slice(0, 12), 16)).toBe(NOW);
    expect(two.slice(0, 13)).toBe(one.slice(0, 13));
    expect(two).not.toBe(one);
    // Ordered by time.
    expect(uuidV7(NOW + 1) > one).toBe(true);
  });

  it.each([
    ['one of ours', uuidV7(NOW), true],
    ['one of a clock that is ahead', uuidV7(NOW + 60_000), true],
    ['one of next year', uuidV7(Date.UTC(2027, 10)), false],
    ['one of the first days of time', uuidV7(1), false],
    ['a random one', 'b1946ac9-2c4b-4d3a-9f2e-5d6f7a8b9c0d', false],
    ['one in capitals', uuidV7(NOW).replace(/^.{8}/, '019A5C0B').toUpperCase(), false],
    ['a name', 'my conversation', false],
    ['nothing', '', false],
  ])('is distinguished from others: %s', (_, text, isReal) => {
    expect(isRealUuidV7(text, NOW)).toBe(isReal);
  });
});
