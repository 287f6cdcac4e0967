import { describe, expect, it } from 'vitest';

import { readIdentity } from './ask-account.ts';

const tokenOf = (claims: unknown): string =>
  ['{}', JSON.stringify(claims)].map((text) => Buffer.from(text).toString('base64url')).join('.');
const auth = (tokens: unknown): string => JSON.stringify({ OPENAI_API_KEY: null, tokens });

describe('readIdentity', () => {
  it.each([
    [
      'named beside the tokens',
      auth({ account_id: 'acc', access_token: tokenOf({ exp: 5 }) }),
      { accountId: 'acc', expiresAtMs: 5_000 },
    ],
    [
      'named in a token',
      auth({ id_token: tokenOf({ 'https://api.openai.com/auth': { chatgpt_account_id: 'acc' } }) }),
      { accountId: 'acc', expiresAtMs: null },
    ],
    [
      'a token that is none',
      auth({ account_id: 'acc', access_token: 'x' }),
      { accountId: 'acc', expiresAtMs: null },
    ],
    ['nobody', auth({ account_id: '' }), null],
    ['no tokens', '{}', null],
    ['no JSON', '{', null],
    ['no file', null, null],
  ])('%s', (_what, text, identity) => {
    expect(readIdentity(text)).toEqual(identity);
  });
});
