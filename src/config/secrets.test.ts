import { expect, it } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/feature-tables.ts';
import { secretsOf } from './secrets.ts';

it('finds every secret of a configuration', () => {
  expect(secretsOf(loadConfig({}), ALL_SETTINGS)).toEqual([]);
  const environment = {
    PROXY_API_KEY: 'sk-a,sk-b',
    PROXY_UPSTREAM_API_KEY: 'c',
    PROXY_UPSTREAM_BASE_URL: 'http://h/v1',
    PROXY_EMBEDDINGS_API_KEY: 'e',
    PROXY_TRANSCRIPTIONS_API_KEY: 't',
    PROXY_DATABASE_URL: 'postgres://u:p@h/d',
    PROXY_STORE_KEY: `${'0a'.repeat(32)},${'0b'.repeat(32)}`,
  };
  expect(secretsOf(loadConfig(environment), ALL_SETTINGS)).toEqual([
    'sk-a',
    'sk-b',
    'c',
    'e',
    't',
    'postgres://u:p@h/d',
    '0a'.repeat(32),
    '0b'.repeat(32),
  ]);
});
