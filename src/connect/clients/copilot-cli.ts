import { openAiUrl, type Client } from '../client.ts';

export const copilotCli: Client = {
  title: 'GitHub Copilot CLI',
  page: 'copilot-cli.md',
  files: () => [],
  run: (server) => ({
    program: 'copilot',
    words: [],
    variables: {
      COPILOT_PROVIDER_BASE_URL: openAiUrl(server),
      COPILOT_PROVIDER_API_KEY: server.key,
      COPILOT_PROVIDER_WIRE_API: 'responses',
      COPILOT_MODEL: server.model.id,
      COPILOT_OFFLINE: 'true',
    },
  }),
  tryIt: 'copilot -p "Say hello."',
};
