import { describe, expect, it } from 'vitest';

import { directLogin, type BackendTarget } from './backend.ts';
import { childEnvironment, loginVariables } from './environment.ts';

/** Its own: the variable of the same name in our environment has no effect. */
const RUST_LOG = 'error,codex_api::sse::responses=debug';
const INHERITED = { certificateFile: null, login: {} };

describe('childEnvironment', () => {
  it('passes the required variables and nothing else', () => {
    const ours = {
      PATH: '/bin',
      HOME: '/root',
      LANG: 'C.UTF-8',
      LC_ALL: 'C',
      TZ: 'UTC',
      TMPDIR: '/t',
      SSL_CERT_FILE: '/ca.pem',
      CODEX_CA_CERTIFICATE: '/own.pem',
      CODEX_HOME: '/home/me/.codex',
      CODEX_API_KEY: 'sk-1',
      OPENAI_API_KEY: 'sk-2',
      PROXY_API_KEY: 'ours',
      PROXY_UPSTREAM_API_KEY: 'sk-3',
      RUST_LOG: 'trace',
      NODE_OPTIONS: '--inspect',
      UNSET: undefined,
    };
    const wanted = {
      PATH: '/bin',
      HOME: '/root',
      LANG: 'C.UTF-8',
      LC_ALL: 'C',
      TZ: 'UTC',
      TMPDIR: '/t',
      SSL_CERT_FILE: '/ca.pem',
      CODEX_CA_CERTIFICATE: '/own.pem',
      CODEX_HOME: '/state/run/1',
      RUST_LOG,
    };
    const codexHome = '/state/run/1';
    expect([
      childEnvironment(ours, { ...INHERITED, codexHome, apiKeyEnv: null }),
      childEnvironment(ours, { ...INHERITED, codexHome, apiKeyEnv: 'PROXY_UPSTREAM_API_KEY' }),
    ]).toEqual([wanted, { ...wanted, PROXY_UPSTREAM_API_KEY: 'sk-3' }]);
  });

  it('excludes our loopback servers from the proxy, whatever the case of the variable', () => {
    const options = { ...INHERITED, codexHome: '/h', apiKeyEnv: null };
    expect([
      childEnvironment({ https_proxy: 'http://p' }, options),
      childEnvironment({ HTTP_PROXY: 'http://p', NO_PROXY: 'a.example, b', no_proxy: '' }, options),
      childEnvironment({ NO_PROXY: 'a.example' }, options),
    ]).toEqual([
      { CODEX_HOME: '/h', RUST_LOG, https_proxy: 'http://p', NO_PROXY: '127.0.0.1,localhost,::1' },
      {
        CODEX_HOME: '/h',
        RUST_LOG,
        HTTP_PROXY: 'http://p',
        NO_PROXY: 'a.example, b,127.0.0.1,localhost,::1',
        no_proxy: '127.0.0.1,localhost,::1',
      },
      { CODEX_HOME: '/h', RUST_LOG, NO_PROXY: 'a.example' },
    ]);
  });

  it("trusts one certificate instead of ours and the system's", () => {
    const ours = {
      PATH: '/bin',
      SSL_CERT_FILE: '/ca.pem',
      SSL_CERT_DIR: '/certs',
      CODEX_CA_CERTIFICATE: '/own.pem',
    };
    const options = { ...INHERITED, codexHome: '/h', apiKeyEnv: null, certificateFile: '/h/one.pem' };
    expect(childEnvironment(ours, options)).toEqual({
      PATH: '/bin',
      CODEX_HOME: '/h',
      RUST_LOG,
      SSL_CERT_FILE: '/h/one.pem',
    });
  });

  it('takes the variables of a login, ignoring our own environment', () => {
    const ours = { CODEX_REFRESH_TOKEN_URL_OVERRIDE: 'https://r.example', CODEX_ACCESS_TOKEN: 'at-ours' };
    const options = { ...INHERITED, codexHome: '/h', apiKeyEnv: null };
    expect([
      childEnvironment(ours, options),
      childEnvironment(ours, { ...options, login: { CODEX_ACCESS_TOKEN: 'at-1' } }),
    ]).toEqual([
      { CODEX_HOME: '/h', RUST_LOG },
      { CODEX_HOME: '/h', RUST_LOG, CODEX_ACCESS_TOKEN: 'at-1' },
    ]);
  });
});

describe('loginVariables', () => {
  const placed = {
    chatgptBaseUrl: 'http://127.0.0.1:2/backend-api',
    refreshUrl: 'http://127.0.0.1:2/refresh',
    revokeUrl: 'http://127.0.0.1:2/revoke',
  };
  const RENEWALS = {
    CODEX_REFRESH_TOKEN_URL_OVERRIDE: placed.refreshUrl,
    CODEX_REVOKE_TOKEN_URL_OVERRIDE: placed.revokeUrl,
  };
  const authApiUrl = 'http://127.0.0.1:2/auth-api';
  const CHECKS = { CODEX_AUTHAPI_BASE_URL: authApiUrl, CODEX_AGENT_IDENTITY_AUTHAPI_BASE_URL: authApiUrl };

  it.each<readonly [string, BackendTarget, object]>([
    ['no login', { kind: 'none' }, {}],
    ["codex's own addresses", directLogin('chatgpt', 'personal'), {}],
    ['tokens that are renewed', { ...directLogin('chatgpt'), ...placed }, RENEWALS],
    [
      'a personal access token',
      { ...directLogin('chatgpt', 'personal'), ...placed, authApiUrl },
      { ...RENEWALS, ...CHECKS },
    ],
    [
      'an agent token, whose keys are at the address of the account',
      { ...directLogin('chatgpt', 'agent'), ...placed, authApiUrl },
      { ...RENEWALS, ...CHECKS, CODEX_AGENT_IDENTITY_JWKS_BASE_URL: placed.chatgptBaseUrl },
    ],
  ])('%s', (_, backend, variables) => {
    expect(loginVariables(backend)).toEqual(variables);
  });
});
