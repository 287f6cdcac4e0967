import { openAiUrl, type Client } from '../client.ts';

/** How Cline names providers of this kind. It keeps one of them. */
const CLINE_PROVIDER = 'openai-compatible';

export const cline: Client = {
  title: 'Cline',
  page: 'cline.md',
  files: (server) => [
    {
      format: 'json',
      place: {
        variables: [
          ['CLINE_DATA_DIR', 'settings'],
          ['CLINE_DIR', 'data/settings'],
        ],
        folder: '.cline/data/settings',
        name: 'providers.json',
      },
      settings: [
        { kind: 'first', path: ['version'], value: 1 },
        { kind: 'value', path: ['lastUsedProvider'], value: CLINE_PROVIDER },
        {
          kind: 'value',
          path: ['providers', CLINE_PROVIDER],
          // Cline deletes a file in which one of these is missing. It changes the model and the time itself.
          value: {
            settings: {
              provider: CLINE_PROVIDER,
              apiKey: server.key,
              model: server.model.id,
              baseUrl: openAiUrl(server),
            },
            updatedAt: '2026-01-01T00:00:00.000Z',
            tokenSource: 'manual',
          },
          identity: ['settings', 'baseUrl'],
        },
      ],
    },
  ],
  run: () => null,
  tryIt: 'cline "Say hello."',
};
