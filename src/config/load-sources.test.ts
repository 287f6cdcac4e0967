import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, it, vi } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/features.ts';

// A config file of the person who runs the tests must not count.
vi.stubEnv('HOME', join(tmpdir(), 'no-such-home'));
afterAll(() => vi.unstubAllEnvs());

describe('loadConfig', () => {
  it('says where each value comes from', () => {
    const { sources } = loadConfig({ PORT: '0', PROXY_DEMO: '' });
    const others = Object.keys(ALL_SETTINGS).filter((name) => name !== 'PORT');
    expect(sources).toEqual({
      ...Object.fromEntries(others.map((name) => [name, 'default'])),
      PORT: 'environment',
    });
  });

  it('is frozen through and through', () => {
    const config = loadConfig({ PROXY_API_KEY: 'sk-a' });
    const parts = [config, ...Object.values(config), config.http.apiKeys];
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true));
  });
});
