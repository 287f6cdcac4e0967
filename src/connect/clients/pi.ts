import { openAiUrl, PROVIDER, type Client, valuesOf } from '../client.ts';

export const pi: Client = {
  title: 'pi',
  page: 'pi.md',
  files: (server) => {
    const place = { variables: [['PI_CODING_AGENT_DIR', '']] as const, folder: '.pi/agent' };
    const { id, contextWindow, maxOutputTokens } = server.model;
    const model = {
      id,
      reasoning: true,
      thinkingLevelMap: { minimal: null, xhigh: 'xhigh', max: 'max' },
      input: ['text', 'image'],
      contextWindow,
      maxTokens: maxOutputTokens,
    };
    return [
      {
        format: 'json',
        place: { ...place, name: 'models.json' },
        settings: valuesOf({
          providers: {
            [PROVIDER]: {
              baseUrl: openAiUrl(server),
              api: 'openai-responses',
              apiKey: server.key,
              models: [model],
            },
          },
        }),
      },
      {
        format: 'json',
        place: { ...place, name: 'settings.json' },
        settings: valuesOf({ defaultProvider: PROVIDER, defaultModel: id }),
      },
    ];
  },
  run: () => null,
  tryIt: 'pi -p "Say hello."',
};
