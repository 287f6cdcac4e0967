import { describe, expect, it } from 'vitest';

import { ALL_FAILURES } from '../../compose/features.ts';
import { classify, NO_DETAILS } from './classify.ts';
import { withoutKeyWords } from './key-words.ts';
import { mcpErrorText } from './mcp-error.ts';

/** How Obsidian Copilot decides that its user has to check the key. */
const isAboutKey = (text: string): boolean =>
  ['api key', 'apikey', 'unauthorized', 'authentication'].some((hint) => text.toLowerCase().includes(hint));

/** Only another key helps. With a used-up limit the key is right. */
const ABOUT_KEY: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'key_expired',
  'key_paused',
  'key_revoked',
  'address_not_allowed',
]);

describe('messages that mention keys', () => {
  it.each(Object.entries(ALL_FAILURES))("are only those about the caller's key: %s", (kind, { message }) => {
    expect(isAboutKey(message)).toBe(ABOUT_KEY.has(kind));
  });

  it('come with 401 or 403; other 403 are for web pages, and for keys without the scope', () => {
    const statuses = Object.entries(ALL_FAILURES).map(([kind, { status }]): [string, number] => [
      kind,
      status,
    ]);
    expect(statuses.filter(([, status]) => status === 401 || status === 403)).toEqual([
      ['invalid_api_key', 401],
      ['missing_scope', 403],
      ['key_expired', 401],
      ['key_paused', 401],
      ['key_revoked', 401],
      ['address_not_allowed', 403],
      ['origin_not_allowed', 403],
      ['console_not_served', 403],
    ]);
  });

  const WORDS = 'Unauthorized: API key or apikey needed for authentication.';
  const CODES = [
    null,
    'x',
    'authentication_error',
    'invalid_image_url',
    'usage_limit_reached',
    'cyber_policy',
    'server_error',
  ];
  const STATUSES = [null, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529];

  it.each(STATUSES)('of a backend are not passed on with %s', (status) => {
    for (const code of CODES) {
      for (const param of [null, 'input']) {
        const told = classify({ ...NO_DETAILS, status, code, param, message: WORDS });
        expect(isAboutKey(told.message)).toBe(false);
        expect(isAboutKey(told.code)).toBe(told.kind === 'upstream_unauthorized');
        expect([401, 403]).not.toContain(told.status);
      }
    }
  });

  it('are reworded if the rest is worth reading', () => {
    expect(withoutKeyWords(WORDS)).toBe('not permitted: credential or credential needed for sign-in.');
    expect(mcpErrorText('MCP startup failed: HTTP 401 Unauthorized')).toBe('failed: HTTP 401 not permitted');
  });
});

describe('a used-up quota', () => {
  it.each([
    'usage_limit_reached',
    'usage_not_included',
    'insufficient_quota',
    'billing_hard_limit_reached',
    'credits_exhausted',
  ])('is 429 insufficient_quota, which clients do not retry: %s', (code) => {
    expect(classify({ ...NO_DETAILS, status: 429, code, resetsInSeconds: 60 })).toMatchObject({
      status: 429,
      type: 'insufficient_quota',
      code: 'insufficient_quota',
      headers: { 'x-should-retry': 'false' },
      retryAfterSeconds: 60,
    });
  });
});
