import { describe, expect, it } from 'vitest';
import { failure, failureOf } from '../../canonical/failure.ts';
import type { Failure } from '../../canonical/failure.ts';
import { createAuthenticator } from './authenticate.ts';

const authenticate = createAuthenticator(['sk-first-key-0001', 'sk-second-key-0002']);

const refusal = (header: string | null): Failure | null => {
  try {
    authenticate(header);
  } catch (error) {
    return failureOf(error);
  }
  return null;
};

const missing = failure('invalid_api_key', {
  message:
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
});

describe('createAuthenticator', () => {
  it('lets every key in and tells the keys apart', () => {
    const first = authenticate('Bearer sk-first-key-0001');
    const second = authenticate('bearer   sk-second-key-0002 ');
    expect([first, second]).toEqual([
      { keyId: expect.stringMatching(/^key_[0-9a-f]{8}$/) },
      { keyId: expect.stringMatching(/^key_[0-9a-f]{8}$/) },
    ]);
    expect(first.keyId).not.toBe(second.keyId);
  });

  it('gives a key the same id in every process', () => {
    expect(createAuthenticator(['sk-first-key-0001'])('Bearer sk-first-key-0001')).toEqual(
      authenticate('Bearer sk-first-key-0001'),
    );
  });

  it.each([[null], [''], ['Bearer'], ['Bearer '], ['Basic c2s6'], ['sk-first-key-0001']])(
    'asks for a key when the header is %j',
    (header) => {
      expect(refusal(header)).toEqual(missing);
    },
  );

  it.each([
    ['sk-first-key-0002', 'sk-fi***02'],
    ['sk-first-key-0001x', 'sk-fi***1x'],
    ['sk-first-key-000', 'sk-fi***00'],
    ['SK-FIRST-KEY-0001', 'SK-FI***01'],
    ['short', '***'],
  ])('refuses %s and shows it masked', (key, shown) => {
    expect(refusal(`Bearer ${key}`)).toEqual(
      failure('invalid_api_key', { message: `Incorrect API key provided: ${shown}.` }),
    );
  });

  it('lets nobody in when there is no key', () => {
    const nobody = createAuthenticator([]);
    expect(() => nobody('Bearer sk-first-key-0001')).toThrow('Incorrect API key provided: sk-fi***01.');
  });
});
