import { FAMILY } from '../../canonical/models/model-names.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { openAiUrl, PROVIDER, TITLE, type Client, type ServerFacts, valuesOf } from '../client.ts';

const opencodeSettings = (server: ServerFacts): JsonObject => {
  const { id, title, contextWindow, maxOutputTokens } = server.model;
  return {
    model: `${PROVIDER}/${id}`,
    provider: {
      [PROVIDER]: {
        npm: '@ai-sdk/openai-compatible',
        name: TITLE,
        options: {
          baseURL: openAiUrl(server),
          apiKey: server.keyFile === null ? server.key : `{file:${server.keyFile}}`,
        },
        models: {
          [FAMILY]: { name: 'Default model' },
          [id]: {
            name: title,
            reasoning: true,
            attachment: true,
            modalities: { input: ['text', 'image'], output: ['text'] },
            limit: { context: contextWindow, output: maxOutputTokens },
          },
        },
      },
    },
  };
};

export const opencode: Client = {
  title: 'opencode',
  page: 'opencode.md',
  files: (server) => [
    {
      format: 'json',
      place: {
        variables: [['XDG_CONFIG_HOME', 'opencode']],
        folder: '.config/opencode',
        name: 'opencode.json',
        otherName: 'opencode.jsonc',
      },
      settings: [
        { kind: 'first', path: ['$schema'], value: 'https://opencode.ai/config.json' },
        ...valuesOf(opencodeSettings(server)),
      ],
    },
  ],
  run: (server) => ({
    program: 'opencode',
    words: [],
    variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeSettings(server)) },
  }),
  tryIt: 'opencode run "Say hello."',
};
