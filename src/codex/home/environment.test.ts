import { describe, expect, it } from 'vitest';

import { childEnvironment } from './environment.ts';

const INHERITED = { certificateFile: null, refreshUrl: null, revokeUrl: null };

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
      { CODEX_HOME: '/h', https_proxy: 'http://p', NO_PROXY: '127.0.0.1,localhost,::1' },
      {
        CODEX_HOME: '/h',
        HTTP_PROXY: 'http://p',
        NO_PROXY: 'a.example, b,127.0.0.1,localhost,::1',
        no_proxy: '127.0.0.1,localhost,::1',
      },
      { CODEX_HOME: '/h', NO_PROXY: 'a.example' },
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
      SSL_CERT_FILE: '/h/one.pem',
    });
  });

  it('sets the token URLs of a login, ignoring our own environment', () => {
    const ours = {
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: 'https://r.example',
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: 'x',
    };
    const options = {
      codexHome: '/h',
      apiKeyEnv: null,
      certificateFile: null,
      refreshUrl: 'http://127.0.0.1:2/oauth/token',
      revokeUrl: 'http://127.0.0.1:2/oauth/revoke',
    };
    expect(childEnvironment(ours, options)).toEqual({
      CODEX_HOME: '/h',
      CODEX_REFRESH_TOKEN_URL_OVERRIDE: 'http://127.0.0.1:2/oauth/token',
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: 'http://127.0.0.1:2/oauth/revoke',
    });
  });
});
