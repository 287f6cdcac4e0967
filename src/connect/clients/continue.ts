import { openAiUrl, TITLE, type Client } from '../client.ts';

export const continueDev: Client = {
  title: 'Continue',
  page: 'continue.md',
  files: (server) => [
    {
      format: 'yaml',
      place: { variables: [['CONTINUE_GLOBAL_DIR', '']], folder: '.continue', name: 'config.yaml' },
      settings: [
        { kind: 'first', path: ['name'], value: TITLE },
        { kind: 'first', path: ['version'], value: '1.0.0' },
        { kind: 'first', path: ['schema'], value: 'v1' },
        {
          kind: 'item',
          path: ['models'],
          item: {
            name: `${server.model.title} (${TITLE})`,
            provider: 'openai',
            model: server.model.id,
            apiBase: openAiUrl(server),
            apiKey: server.key,
            roles: ['chat', 'edit', 'apply'],
            capabilities: ['tool_use', 'image_input'],
          },
        },
      ],
    },
  ],
  run: () => null,
  tryIt: 'cn -p "Say hello."',
};
