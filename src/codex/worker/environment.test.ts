import { describe, expect, it } from 'vitest';

import { childEnvironment } from './environment.ts';

describe('childEnvironment', () => {
  it('passes what a process needs and nothing else', () => {
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
      childEnvironment(ours, { codexHome, apiKeyEnv: null }),
      childEnvironment(ours, { codexHome, apiKeyEnv: 'PROXY_UPSTREAM_API_KEY' }),
    ]).toEqual([wanted, { ...wanted, PROXY_UPSTREAM_API_KEY: 'sk-3' }]);
  });

  it('keeps our own loopback servers out of a proxy, in whichever case it is named', () => {
    const options = { codexHome: '/h', apiKeyEnv: null };
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
});
