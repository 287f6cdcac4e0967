import { describe, expect, it } from 'vitest';

import { directLogin, staysOnLoopback, type BackendTarget } from './backend.ts';

const provider = (baseUrl: string): BackendTarget => ({ kind: 'upstream', baseUrl, apiKeyEnv: null });

const RELAYED = {
  ...directLogin('chatgpt'),
  baseUrl: 'http://127.0.0.1:2',
  chatgptBaseUrl: 'http://127.0.0.1:2/backend-api',
  refreshUrl: 'http://127.0.0.1:2/oauth/token',
  revokeUrl: 'http://127.0.0.1:2/oauth/revoke',
};

describe('staysOnLoopback', () => {
  it.each<[string, BackendTarget, boolean]>([
    ['a provider on this machine', provider('http://127.0.0.1:1/v1'), true],
    ['by its name', provider('http://localhost:1'), true],
    ['by IPv6', provider('http://[::1]:1'), true],
    ['with TLS', provider('https://127.0.0.1:1'), false],
    ['a provider elsewhere', provider('http://10.0.0.1'), false],
    ['a name that only looks like it', provider('http://127.0.0.1.example'), false],
    ['no URL', provider(''), false],
    ['the demo', { kind: 'demo', baseUrl: 'http://127.0.0.1:1' }, true],
    ['no backend', { kind: 'none' }, false],
    ['a login at its own address', directLogin('chatgpt'), false],
    ['an access token that is checked elsewhere', { ...RELAYED, accessToken: 'personal' }, false],
    [
      'an access token that is checked by the relay',
      { ...RELAYED, accessToken: 'agent', authApiUrl: 'http://127.0.0.1:2/auth-api' },
      true,
    ],
    ['a login with all of its traffic on the relay', RELAYED, true],
    ['a login whose account is asked elsewhere', { ...RELAYED, chatgptBaseUrl: null }, false],
    ['a login whose tokens are refreshed elsewhere', { ...RELAYED, refreshUrl: 'https://a.example' }, false],
    ['a login whose tokens are revoked elsewhere', { ...RELAYED, revokeUrl: null }, false],
    ['an API key on the relay', { ...directLogin('api-key'), baseUrl: 'http://127.0.0.1:2' }, true],
    ['an API key at its own address', directLogin('api-key'), false],
  ])('%s', (_, backend, expected) => {
    expect(staysOnLoopback(backend)).toBe(expected);
  });
});
