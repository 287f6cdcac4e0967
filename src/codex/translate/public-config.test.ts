import { expect, it } from 'vitest';

import { publicConfig } from './public-config.ts';

it('shows only listed keys with plain values', () => {
  const shown = publicConfig({
    model: 'gpt-5.5',
    sandbox_mode: { private: 'x' },
    model_provider: 'proxy',
    model_catalog_json: '/private/catalogue.json',
    chatgpt_base_url: 'http://127.0.0.1:1/private',
    model_providers: {
      proxy: {
        name: 'proxy',
        base_url: 'http://private',
        http_headers: { a: 'private' },
        wire_api: 'responses',
      },
      other: { name: 'private' },
    },
    mcp_servers: { private: {} },
    features: { apps: false, network_proxy: { url: 'private' } },
  });
  expect(JSON.stringify(shown)).not.toContain('private');
  expect(shown).toMatchObject({
    model: 'gpt-5.5',
    sandbox_mode: null,
    provider: { name: 'proxy', wire_api: 'responses' },
    features: { apps: false },
  });
});
