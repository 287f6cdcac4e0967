import { describe, expect, it } from 'vitest';

import { readLogin } from './read-login.ts';

const token = (claims: object): string =>
  ['{}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const NOTHING = {
  accessToken: null,
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
      accessToken: null,
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

  it('recognises a personal access token, which says nothing about itself', () => {
    const auth = { OPENAI_API_KEY: null, personal_access_token: 'at-1' };
    expect(readLogin(JSON.stringify(auth))).toEqual({
      ...NOTHING,
      kind: 'chatgpt',
      accessToken: 'personal',
    });
  });

  it('reads an agent token, also as claims', () => {
    const claims = {
      account_id: 'acc-2',
      plan_type: 'business',
      email: 'bob@example.com',
      exp: 1_794_800_000,
    };
    const auth = (agent_identity: unknown): string =>
      JSON.stringify({ auth_mode: 'agentIdentity', agent_identity });
    const facts = {
      ...NOTHING,
      kind: 'chatgpt',
      accessToken: 'agent',
      accountId: 'acc-2',
      plan: 'business',
      account: 'b***@example.com',
      expiresAt: new Date(1_794_800_000_000),
    };
    expect([readLogin(auth(token(claims))), readLogin(auth(claims))]).toEqual([facts, facts]);
  });

  it('follows the mode that codex wrote', () => {
    const tokens = { access_token: token({}), refresh_token: 'r' };
    const auth = { auth_mode: 'chatgpt', tokens, personal_access_token: 'at-1', agent_identity: {} };
    expect(readLogin(JSON.stringify(auth))).toEqual({ ...NOTHING, kind: 'chatgpt', canRefresh: true });
  });

  it.each([
    '{"auth_mode":"agentIdentity","agent_identity":"no.claims.here"}',
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"tokens":null}',
    '{"tokens":{}}',
    '{"OPENAI_API_KEY":""}',
  ])('finds no login in %j', (text) => {
    expect(readLogin(text)).toBeNull();
  });
});
