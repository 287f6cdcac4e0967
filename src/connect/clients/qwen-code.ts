import { openAiUrl, type Client, valuesOf } from '../client.ts';

const QWEN_KEY = 'CODEX_PROXY_KEY';

export const qwenCode: Client = {
  title: 'Qwen Code',
  page: 'qwen-code.md',
  files: (server) => {
    const provider = { baseUrl: openAiUrl(server), envKey: QWEN_KEY };
    const { id, title, contextWindow } = server.model;
    return [
      {
        format: 'json',
        place: { variables: [['QWEN_HOME', '']], folder: '.qwen', name: 'settings.json' },
        settings: [
          { kind: 'first', path: ['$version'], value: 4 },
          ...valuesOf({
            env: { [QWEN_KEY]: server.key },
            security: { auth: { selectedType: 'openai' } },
            model: { name: id },
          }),
          {
            kind: 'item',
            path: ['modelProviders', 'openai'],
            item: { id, name: title, ...provider, generationConfig: { contextWindowSize: contextWindow } },
          },
        ],
      },
    ];
  },
  run: (server) => ({
    program: 'qwen',
    words: [],
    variables: {
      OPENAI_BASE_URL: openAiUrl(server),
      OPENAI_API_KEY: server.key,
      OPENAI_MODEL: server.model.id,
    },
  }),
  tryIt: 'qwen "Say hello."',
};
