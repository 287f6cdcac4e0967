import { describe, expect, it } from 'vitest';

import { readLogin } from './read-login.ts';

const token = (claims: object): string =>
  ['{}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const NOTHING = {
  accountId: null,
  plan: null,
  account: null,
  expiresAt: null,
  canRefresh: false,
  paidUntil: null,
};

describe('readLogin', () => {
  it('reports what the owner may see of a ChatGPT login', () => {
    const auth = {
      OPENAI_API_KEY: null,
      tokens: {
        id_token: token({
          email: 'ann@example.com',
          'https://api.openai.com/auth': {
            chatgpt_plan_type: 'plus',
            chatgpt_account_id: 'acc-1',
            chatgpt_subscription_active_until: '2026-12-01T00:00:00+00:00',
          },
        }),
        access_token: token({ exp: 1_794_800_000 }),
        refresh_token: 'r',
      },
    };
    expect(readLogin(JSON.stringify(auth))).toEqual({
      kind: 'chatgpt',
      accountId: 'acc-1',
      plan: 'plus',
      account: 'a***@example.com',
      expiresAt: new Date(1_794_800_000_000),
      canRefresh: true,
      paidUntil: new Date('2026-12-01'),
    });
  });

  it('accepts missing fields', () => {
    const auth = {
      tokens: { id_token: 'not a token', access_token: token({ exp: 1e300 }), refresh_token: '' },
    };
    expect(readLogin(JSON.stringify(auth))).toEqual({ ...NOTHING, kind: 'chatgpt' });
  });

  it('recognises an API key', () => {
    expect(readLogin('{"OPENAI_API_KEY":"sk-1"}')).toEqual({ ...NOTHING, kind: 'api-key' });
  });

  it.each(['', '{', '[]', 'null', '{}', '{"tokens":null}', '{"tokens":{}}', '{"OPENAI_API_KEY":""}'])(
    'finds no login in %j',
    (text) => {
      expect(readLogin(text)).toBeNull();
    },
  );
});
