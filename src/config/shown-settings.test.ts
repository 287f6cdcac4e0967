import { expect, it } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/feature-tables.ts';
import { shownSettings } from './shown-settings.ts';

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
