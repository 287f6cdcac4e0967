import type { JsonObject } from '../../kit/json/json.ts';
import { openAiUrl, PROVIDER, type Client, type ServerFacts, valuesOf } from '../client.ts';

const codexSettings = (server: ServerFacts, key: JsonObject): JsonObject => ({
  model: server.model.id,
  model_provider: PROVIDER,
  model_providers: {
    [PROVIDER]: { name: PROVIDER, base_url: openAiUrl(server), wire_api: 'responses', ...key },
  },
});

/** The variable of the key for a single run. */
const CODEX_KEY = 'CODEX_PROXY_KEY';

export const codex: Client = {
  title: 'Codex',
  page: 'codex.md',
  files: (server) => [
    {
      format: 'toml',
      place: { variables: [['CODEX_HOME', '']], folder: '.codex', name: 'config.toml' },
      settings: valuesOf(codexSettings(server, { experimental_bearer_token: server.key })),
    },
  ],
  run: (server) => ({
    program: 'codex',
    words: valuesOf(codexSettings(server, { env_key: CODEX_KEY })).flatMap((setting) =>
      setting.kind === 'value' ? ['-c', `${setting.path.join('.')}=${JSON.stringify(setting.value)}`] : [],
    ),
    variables: { [CODEX_KEY]: server.key },
  }),
  tryIt: 'codex exec "Say hello."',
};
