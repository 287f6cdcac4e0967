import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { withoutNpm } from '../connect.ts';

const joined = (...folders: readonly string[]): string => folders.join(path.delimiter);

describe('withoutNpm', () => {
  const environment = {
    PATH: joined(
      '/home/me/proxy/node_modules/.bin',
      '/home/me/node_modules/.bin',
      '/node_modules/.bin',
      '/lib/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin',
      '/home/me/project/node_modules/.bin',
      '/usr/bin',
    ),
    HOME: '/home/me',
    INIT_CWD: '/home/me/project',
    npm_lifecycle_event: 'connect',
    npm_package_name: 'codex-app-server-proxy',
    npm_config_registry: 'https://example.com',
  };

  it('restores the environment of the user: other programs of the project must not come first', () => {
    expect(withoutNpm(environment, '/home/me/proxy')).toEqual({
      PATH: joined('/home/me/project/node_modules/.bin', '/usr/bin'),
      HOME: '/home/me',
      npm_config_registry: 'https://example.com',
    });
  });

  it('changes nothing if npm did not start the command', () => {
    const { npm_lifecycle_event: _event, ...own } = environment;
    expect(withoutNpm(own, '/home/me/proxy')).toBe(own);
  });
});
