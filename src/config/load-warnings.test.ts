import { describe, expect, it } from 'vitest';

import { loadConfig } from '../compose/features.ts';

describe('loadConfig', () => {
  it('warns of keys that it does not know', () => {
    expect(
      loadConfig({ PROXY_SANBOX_MODE: 'read-only', PATH: '/bin', PROXY_UNSET: undefined }).warnings,
    ).toEqual(['PROXY_SANBOX_MODE is not a setting of this server and has no effect.']);
  });

  it('warns of the key of a provider that is not named, without showing it', () => {
    const keys = { PROXY_UPSTREAM_API_KEY: 'sk-up', PROXY_EMBEDDINGS_API_KEY: 'sk-embed' };
    expect(loadConfig({ ...keys, PROXY_TRANSCRIPTIONS_API_KEY: 'sk-speech' }).warnings).toEqual([
      'PROXY_UPSTREAM_API_KEY has no effect without PROXY_UPSTREAM_BASE_URL.',
      'PROXY_EMBEDDINGS_API_KEY has no effect without PROXY_EMBEDDINGS_BASE_URL.',
      'PROXY_TRANSCRIPTIONS_API_KEY has no effect without PROXY_TRANSCRIPTIONS_BASE_URL.',
    ]);
  });
});
