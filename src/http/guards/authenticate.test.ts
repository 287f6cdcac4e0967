import { describe, expect, it } from 'vitest';
import { failure, type Failure, failureOf } from '../../canonical/failure/failure.ts';
import { ALL_SCOPES } from './scopes.ts';
import { KeyIds } from '../../store/key-ids.ts';
import { acceptConfigured, configuredKeysOf } from './authenticate.ts';

const ids = (): KeyIds => new KeyIds([Buffer.alloc(32, 1)]);
const authenticate = acceptConfigured(configuredKeysOf(['sk-first-key-0001', 'sk-second-key-0002'], ids()));

const given = (headers: Record<string, string>) => ({ headers: new Headers(headers) });

const bearer = (key: string) => given({ authorization: `Bearer ${key}` });

const refusal = (credentials: { readonly headers: Headers }): Failure | null => {
  try {
    authenticate(credentials);
  } catch (error) {
    return failureOf(error);
  }
  return null;
};

const missing = failure('invalid_api_key', {
  message:
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
});

const wrongKey = (shown: string): Failure =>
  failure('invalid_api_key', {
    message: `Incorrect API key provided: ${shown}. Use the key of this server: its start-up message says where to find it.`,
  });

describe('acceptConfigured', () => {
  it('accepts every key and distinguishes them', () => {
    const first = authenticate(bearer('sk-first-key-0001'));
    const second = authenticate(given({ authorization: 'bearer   sk-second-key-0002 ' }));
    expect([first, second]).toEqual([
      { keyId: expect.stringMatching(/^key_[\w-]{22}$/), scopes: ALL_SCOPES },
      { keyId: expect.stringMatching(/^key_[\w-]{22}$/), scopes: ALL_SCOPES },
    ]);
    expect(first.keyId).not.toBe(second.keyId);
  });

  it('derives the same id in every process of an installation', () => {
    expect(
      acceptConfigured(configuredKeysOf(['sk-first-key-0001'], ids()))(bearer('sk-first-key-0001')),
    ).toEqual(authenticate(bearer('sk-first-key-0001')));
  });

  it.each<Record<string, string>>([
    { 'x-api-key': 'sk-second-key-0002' },
    { 'api-key': ' sk-second-key-0002 ' },
    { authorization: 'Bearer', 'x-api-key': 'sk-second-key-0002' },
    { authorization: 'Basic c2s6', 'x-api-key': 'sk-second-key-0002' },
    { authorization: 'Bearer sk-second-key-0002', 'x-api-key': 'sk-first-key-0001' },
    { authorization: 'Bearer sk-second-key-0002', 'x-api-key': 'unknown' },
    { 'x-api-key': 'sk-second-key-0002', 'api-key': 'unknown' },
  ])('accepts other key headers: %j', (headers) => {
    expect(authenticate(given(headers))).toEqual(authenticate(bearer('sk-second-key-0002')));
  });

  it.each<Record<string, string>>([
    { authorization: 'Bearer unknown', 'x-api-key': 'sk-second-key-0002' },
    { authorization: 'Bearer unknown', 'x-api-key': 'unknown', 'api-key': 'sk-second-key-0002' },
  ])('accepts a request if one of its keys is right: %j', (headers) => {
    expect(authenticate(given(headers))).toEqual(authenticate(bearer('sk-second-key-0002')));
  });

  it('shows the bearer token if all keys are wrong', () => {
    const both = given({ authorization: 'Bearer sk-wrong-key-0001', 'x-api-key': 'sk-other-key-0002' });
    expect(refusal(both)).toEqual(wrongKey('sk-wr***01'));
  });

  it.each<Record<string, string>>([
    {},
    { authorization: '' },
    { authorization: 'Bearer' },
    { authorization: 'Bearer ' },
    { authorization: 'Basic c2s6' },
    { authorization: 'sk-first-key-0001' },
    { 'x-api-key': ' ', 'api-key': '' },
  ])('requires a key with the headers %j', (headers) => {
    expect(refusal(given(headers))).toEqual(missing);
  });

  it.each([
    ['sk-first-key-0002', 'sk-fi***02'],
    ['sk-first-key-0001x', 'sk-fi***1x'],
    ['sk-first-key-000', 'sk-fi***00'],
    ['SK-FIRST-KEY-0001', 'SK-FI***01'],
    ['short', '***'],
  ])('rejects %s and shows it masked', (key, shown) => {
    expect(refusal(bearer(key))).toEqual(wrongKey(shown));
  });

  it('rejects every caller when there is no key', () => {
    const withoutKeys = acceptConfigured(configuredKeysOf([], ids()));
    expect(() => withoutKeys(bearer('sk-first-key-0001'))).toThrow('Incorrect API key provided: sk-fi***01.');
  });
});
