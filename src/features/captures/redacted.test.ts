import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { atOnce } from '../../kit/async/event-loop.ts';
import { cleaner, MAX_TEXT_CHARS } from './redacted.ts';

const cleaned = (value: unknown, secrets: readonly string[] = []): unknown => atOnce(cleaner(secrets)(value));
const SEALED = 'sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('cleaner', () => {
  it.each([
    [
      'a text',
      { text: 'as it is', n: 1, list: [true, null] },
      { text: 'as it is', n: 1, list: [true, null] },
    ],
    ['a known secret', { text: 'it is hunter-22' }, { text: 'it is ***' }],
    [
      'a key in an address',
      { server_url: 'https://h/mcp?a=1&api_key=abc#x', text: 'why?monkey=1 or &accessToken=abc&b=2' },
      { server_url: 'https://h/mcp?a=1&api_key=***#x', text: 'why?monkey=*** or &accessToken=***&b=2' },
    ],
    ['a bearer', { text: 'Bearer abc' }, { text: 'Bearer ***' }],
    [
      'a secret by its name',
      { api_key: 'x', Authorization: 'x' },
      { api_key: '[redacted]', Authorization: '[redacted]' },
    ],
    [
      'an account',
      { chatgpt_account_id: 'x', accountId: 'x' },
      { chatgpt_account_id: '[redacted]', accountId: '[redacted]' },
    ],
    ['a schema about secrets', { password: { type: 'string' } }, { password: { type: 'string' } }],
    [
      'headers of a server',
      { type: 'mcp', headers: { 'X-Token': 'x' } },
      { type: 'mcp', headers: { 'X-Token': '[redacted]' } },
    ],
    ['what is sealed', { encrypted_content: '' }, { encrypted_content: `(sealed: 0 characters, ${SEALED})` }],
    ['a set', { fields: new Set(['a']) }, { fields: ['a'] }],
    ['what is not there', { a: undefined }, {}],
  ])('%s', (_, value, expected) => {
    expect(cleaned(value, ['hunter-22'])).toEqual(expected);
  });

  it('replaces a long text by its length and hash', () => {
    const long = 'x'.repeat(MAX_TEXT_CHARS + 1);
    const { url } = cleaned({ url: long }) as { url: string };
    expect(url).toMatch(/^\(cut: 1048577 characters, sha256 [0-9a-f]{64}\)$/);
    expect(cleaned({ url })).toEqual({ url });
    expect(cleaned({ url: `${long.slice(1)}y` })).not.toEqual({ url });
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const once = cleaned(value, ['secret']);
        expect(cleaned(once, ['secret'])).toEqual(once);
      }),
    );
  });
});
