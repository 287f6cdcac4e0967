import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { baseUrl, secret } from '../../config/value.ts';

export const FORWARDING_TABLES = {
  settings: {
    PROXY_EMBEDDINGS_BASE_URL: deployment({
      at: 'forwarding.embeddingsUrl',
      after: 'PROXY_CAPTURE_DIR',
      type: baseUrl,
      description:
        'The base URL of the provider that answers `/v1/embeddings`, such as `http://127.0.0.1:11434/v1` (Ollama) or `https://api.openai.com/v1`. Requests and answers pass unchanged; see [embeddings and transcriptions](embeddings.md). If not set, the endpoint is a 404.',
    }),
    PROXY_EMBEDDINGS_API_KEY: deployment({
      at: 'forwarding.embeddingsKey',
      type: secret,
      secret: true,
      description:
        "The API key for that provider. It replaces the caller's key; without one, the provider gets none.",
    }),
    PROXY_TRANSCRIPTIONS_BASE_URL: deployment({
      at: 'forwarding.transcriptionsUrl',
      type: baseUrl,
      description:
        'The same for `/v1/audio/transcriptions`: the base URL of a provider that turns speech into text.',
    }),
    PROXY_TRANSCRIPTIONS_API_KEY: deployment({
      at: 'forwarding.transcriptionsKey',
      type: secret,
      secret: true,
      description: 'The API key for that provider.',
    }),
  },
  routes: {
    'POST /v1/embeddings': {
      after: 'GET /v1/chat/completions/:id/messages',
      access: 'key',
      about:
        'Forwarded unchanged to the provider of `PROXY_EMBEDDINGS_BASE_URL`; see [embeddings and transcriptions](embeddings.md). Without one: 404 `endpoint_not_supported`.',
    },
    'POST /v1/audio/transcriptions': {
      access: 'key',
      about: 'The same, with `PROXY_TRANSCRIPTIONS_BASE_URL`.',
    },
  },
} as const satisfies FeatureTables;

/** Second providers, for APIs that the backend does not have. */
export const forwarding = feature('forwarding', FORWARDING_TABLES, {
  open: async (...args) => (await import('./open.ts')).openForwarding(...args),
});
