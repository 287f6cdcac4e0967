import { describe, expect, it } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/features.ts';
import { secretsOf, shownSettings } from './schema.ts';

describe('secretsOf', () => {
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
});

describe('shownSettings', () => {
  it('shows numbers and known words, and no free text', () => {
    const shown = shownSettings(
      loadConfig({
        PROXY_API_KEY: 'sk-private',
        PROXY_UPSTREAM_BASE_URL: 'https://private.example/v1',
        PROXY_UPSTREAM_API_KEY: 'sk-private',
        PROXY_STATE_DIR: '/private/state',
        PROXY_HOST: 'private.example',
        PROXY_MODEL_ALIASES: '{"private":"gpt-5.5"}',
        PROXY_MAX_QUEUED_TURNS: '7',
      }),
      ALL_SETTINGS,
    );
    expect(JSON.stringify(shown)).not.toMatch(/private|state/);
    expect(shown).toMatchObject({
      PROXY_MAX_QUEUED_TURNS: 7,
      PROXY_SANDBOX_MODE: 'read-only',
      PROXY_DEMO: true,
      PROXY_STOP_AFTER_TOOLS: null,
    });
  });
});
