import { deployment } from './setting-row.ts';
import { baseUrl, secret } from './value.ts';

/** Second providers, for APIs that the backend does not have. */
export const PROVIDER_SETTINGS = {
  PROXY_EMBEDDINGS_BASE_URL: deployment({
    at: 'embeddings.baseUrl',
    type: baseUrl,
    description:
      'The base URL of the provider that answers `/v1/embeddings`, such as `http://127.0.0.1:11434/v1` (Ollama) or `https://api.openai.com/v1`. Requests and answers pass unchanged; see [embeddings and transcriptions](embeddings.md). If not set, the endpoint is a 404.',
  }),
  PROXY_EMBEDDINGS_API_KEY: deployment({
    at: 'embeddings.apiKey',
    type: secret,
    secret: true,
    description:
      "The API key for that provider. It replaces the caller's key; without one, the provider gets none.",
  }),
  PROXY_TRANSCRIPTIONS_BASE_URL: deployment({
    at: 'transcriptions.baseUrl',
    type: baseUrl,
    description:
      'The same for `/v1/audio/transcriptions`: the base URL of a provider that turns speech into text.',
  }),
  PROXY_TRANSCRIPTIONS_API_KEY: deployment({
    at: 'transcriptions.apiKey',
    type: secret,
    secret: true,
    description: 'The API key for that provider.',
  }),
};
