import { describe, expect, it } from 'vitest';

import { commandLine, secretSettings, type Invocation } from './invocation.ts';

const clone: Invocation = {
  root: '/src/proxy/',
  isClone: true,
  script: '/src/proxy/bin/codex-app-server-proxy.js',
  directory: '/src/proxy',
  environment: {},
  platform: 'linux',
};
const installed: Invocation = {
  ...clone,
  root: '/usr/lib/node_modules/codex-app-server-proxy',
  isClone: false,
  script: '/usr/bin/codex-app-server-proxy',
  directory: '/home/ann',
  environment: { PATH: '/usr/local/bin:/usr/bin' },
};

describe('commandLine', () => {
  it.each<readonly [string, Invocation, readonly [string, ...string[]], string]>([
    ['a clone', clone, ['login'], 'npm run login'],
    ['its server', clone, ['serve'], 'npm start'],
    ['a flag through npm', clone, ['login', '--device'], 'npm run login -- --device'],
    [
      'a clone, from elsewhere',
      { ...clone, directory: '/home/ann' },
      ['login'],
      'npm --prefix /src/proxy run login',
    ],
    ['an installed command', installed, ['login', '--device'], 'codex-app-server-proxy login --device'],
    ['its server', installed, ['serve'], 'codex-app-server-proxy'],
    [
      'a dependency of a project',
      {
        ...installed,
        script: '/home/ann/app/node_modules/.bin/codex-app-server-proxy',
        directory: '/home/ann/app/src',
      },
      ['doctor'],
      'npx codex-app-server-proxy doctor',
    ],
    [
      'a dependency of a project, from elsewhere',
      { ...installed, script: '/home/ann/an app/node_modules/.bin/codex-app-server-proxy' },
      ['doctor'],
      "'/home/ann/an app/node_modules/.bin/codex-app-server-proxy' doctor",
    ],
    [
      'a link that is on no path',
      { ...installed, script: '/home/ann/links/proxy' },
      ['login'],
      '/home/ann/links/proxy login',
    ],
    [
      'npx',
      { ...installed, script: '/home/ann/.npm/_npx/1f/node_modules/.bin/codex-app-server-proxy' },
      ['doctor'],
      'npx codex-app-server-proxy doctor',
    ],
    [
      'npx with a file',
      {
        ...installed,
        script: '/home/ann/.npm/_npx/1f/node_modules/.bin/codex-app-server-proxy',
        environment: { npm_command: 'exec', npm_config_package: './codex-app-server-proxy-1.0.0.tgz' },
      },
      ['login'],
      'npx --package ./codex-app-server-proxy-1.0.0.tgz codex-app-server-proxy login',
    ],
    [
      'a file in a package that is on no path',
      { ...installed, script: '/opt/package/bin/codex-app-server-proxy.js' },
      ['doctor'],
      'node /opt/package/bin/codex-app-server-proxy.js doctor',
    ],
    [
      'the settings that say which login',
      { ...clone, environment: { CODEX_HOME: '~/.codex', PROXY_STATE_DIR: "/data/it's", PORT: '1' } },
      ['login'],
      String.raw`CODEX_HOME=~/.codex PROXY_STATE_DIR='/data/it'\''s' npm run login`,
    ],
    [
      'every setting, for the doctor to check the same backend, but no secret',
      {
        ...clone,
        environment: {
          HOME: '/root',
          PROXY_UPSTREAM_API_KEY: 'sk-secret',
          PROXY_UPSTREAM_BASE_URL: 'http://127.0.0.1:1/v1',
          PROXY_STATE_DIR: '/data',
          PORT: '1',
        },
      },
      ['doctor'],
      'PORT=1 PROXY_UPSTREAM_BASE_URL=http://127.0.0.1:1/v1 PROXY_STATE_DIR=/data npm run doctor',
    ],
    [
      'where the server listens, for a client to reach the same one',
      { ...clone, environment: { PORT: '1', PROXY_HOST: '::1', PROXY_STATE_DIR: '/data' } },
      ['connect', 'env', '--run'],
      'PORT=1 PROXY_HOST=::1 PROXY_STATE_DIR=/data npm run connect -- env --run',
    ],
    [
      'an empty setting is unset',
      { ...clone, environment: { CODEX_HOME: '', PROXY_STATE_DIR: ' ' } },
      ['login'],
      'npm run login',
    ],
    [
      'PowerShell',
      { ...clone, platform: 'win32', environment: { CODEX_HOME: String.raw`C:\it's` } },
      ['login'],
      String.raw`$env:CODEX_HOME='C:\it''s'; npm run login`,
    ],
  ])('%s', (_, invocation, [command, ...flags], expected) => {
    expect(commandLine(invocation, command, ...flags)).toBe(expected);
  });
});

it('lists the secret settings that are set', () => {
  expect(secretSettings({ PROXY_API_KEY: ' ', PROXY_UPSTREAM_API_KEY: 'sk-secret', PORT: '1' })).toEqual([
    'PROXY_UPSTREAM_API_KEY',
  ]);
});
