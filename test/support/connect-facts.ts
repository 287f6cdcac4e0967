import type { ServerFacts } from '../../src/connect/client.ts';

/** A server for the settings of clients. */
export const serverFacts = (of: Partial<ServerFacts> = {}): ServerFacts => ({
  url: 'http://127.0.0.1:11435',
  key: 'sk-proxy-the-key',
  keyFile: '/home/me/.codex-app-server-proxy/api-key',
  model: {
    id: 'gpt-6.1-sol',
    isChosen: false,
    title: 'GPT-6.1-Sol',
    contextWindow: 272_000,
    maxOutputTokens: 128_000,
  },
  ...of,
});
