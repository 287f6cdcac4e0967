import {
  type ClientSetting,
  type ConnectClient,
  type FilePlace,
  type ServerFacts,
  type Variables,
  TOOL_CALL_SECONDS,
  mcpHeaders,
  mcpUrl,
  settingsOf,
  openAiUrl,
  PROVIDER,
  TITLE,
} from './client.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { FAMILY } from '../canonical/models/model-names.ts';

/** Claude Code takes a window of 1,000,000 tokens for granted. Both variables are needed: one for the models it knows, one for others. */
const claudeVariables = ({ url, key, model }: ServerFacts): Variables => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_AUTH_TOKEN: key,
  ...(model.isChosen ? { ANTHROPIC_MODEL: model.id } : {}),
  CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(model.contextWindow),
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(model.contextWindow),
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
});

const claude: ConnectClient = {
  title: 'Claude Code',
  page: 'claude-code.md',
  files: (server) => [
    {
      format: 'json',
      place: { variables: [['CLAUDE_CONFIG_DIR', '']], folder: '.claude', name: 'settings.json' },
      settings: settingsOf({ env: claudeVariables(server) }),
    },
  ],
  run: (server) => ({ program: 'claude', words: [], variables: claudeVariables(server) }),
  tryIt: 'claude -p "Say hello."',
  mcp: {
    // What `claude mcp add --scope user` writes. It waits for tools as long as they take.
    file: (server) => ({
      format: 'json',
      place: { variables: [['CLAUDE_CONFIG_DIR', '']], folder: '', name: '.claude.json' },
      settings: settingsOf({
        mcpServers: { [TITLE]: { type: 'http', url: mcpUrl(server), headers: mcpHeaders(server) } },
      }),
    }),
    tryIt: 'claude mcp list',
  },
};

const codexSettings = (server: ServerFacts, key: JsonObject): JsonObject => ({
  model: server.model.id,
  model_provider: PROVIDER,
  model_providers: {
    [PROVIDER]: { name: PROVIDER, base_url: openAiUrl(server), wire_api: 'responses', ...key },
  },
});

/** The variable of the key for a single run. */
const CODEX_KEY = 'CODEX_PROXY_KEY';

const CODEX_PLACE = {
  variables: [['CODEX_HOME', '']],
  folder: '.codex',
  name: 'config.toml',
} as const satisfies FilePlace;

const codex: ConnectClient = {
  title: 'Codex',
  page: 'codex.md',
  files: (server) => [
    {
      format: 'toml',
      place: CODEX_PLACE,
      settings: settingsOf(codexSettings(server, { experimental_bearer_token: server.key })),
    },
  ],
  run: (server) => ({
    program: 'codex',
    words: settingsOf(codexSettings(server, { env_key: CODEX_KEY })).flatMap((setting) =>
      setting.kind === 'value' ? ['-c', `${setting.path.join('.')}=${JSON.stringify(setting.value)}`] : [],
    ),
    variables: { [CODEX_KEY]: server.key },
  }),
  tryIt: 'codex exec "Say hello."',
  mcp: {
    file: (server) => ({
      format: 'toml',
      place: CODEX_PLACE,
      settings: settingsOf({
        mcp_servers: {
          [TITLE]: {
            url: mcpUrl(server),
            http_headers: mcpHeaders(server),
            tool_timeout_sec: TOOL_CALL_SECONDS,
          },
        },
      }),
    }),
    tryIt: 'codex mcp list',
  },
};

/** It reads a key from a file. */
const opencodeKey = ({ key, keyFile }: ServerFacts): string => (keyFile === null ? key : `{file:${keyFile}}`);

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
          apiKey: opencodeKey(server),
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

const OPENCODE_PLACE = {
  variables: [['XDG_CONFIG_HOME', 'opencode']],
  folder: '.config/opencode',
  name: 'opencode.json',
  otherName: 'opencode.jsonc',
} as const satisfies FilePlace;

const OPENCODE_SCHEMA = {
  kind: 'first',
  path: ['$schema'],
  value: 'https://opencode.ai/config.json',
} as const satisfies ClientSetting;

const opencode: ConnectClient = {
  title: 'opencode',
  page: 'opencode.md',
  files: (server) => [
    {
      format: 'json',
      place: OPENCODE_PLACE,
      settings: [OPENCODE_SCHEMA, ...settingsOf(opencodeSettings(server))],
    },
  ],
  run: (server) => ({
    program: 'opencode',
    words: [],
    variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeSettings(server)) },
  }),
  tryIt: 'opencode run "Say hello."',
  mcp: {
    file: (server) => ({
      format: 'json',
      place: OPENCODE_PLACE,
      settings: [
        OPENCODE_SCHEMA,
        ...settingsOf({
          mcp: {
            [TITLE]: {
              type: 'remote',
              url: mcpUrl(server),
              headers: mcpHeaders({ key: opencodeKey(server) }),
              enabled: true,
              timeout: TOOL_CALL_SECONDS * 1000,
            },
          },
        }),
      ],
    }),
    tryIt: 'opencode mcp list',
  },
};

/** How Cline names providers of this kind. It keeps one of them. */
const CLINE_PROVIDER = 'openai-compatible';

const CLINE_PLACE = {
  variables: [
    ['CLINE_DATA_DIR', 'settings'],
    ['CLINE_DIR', 'data/settings'],
  ],
  folder: '.cline/data/settings',
} as const;

const cline: ConnectClient = {
  title: 'Cline',
  page: 'cline.md',
  files: (server) => [
    {
      format: 'json',
      place: { ...CLINE_PLACE, name: 'providers.json' },
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
  mcp: {
    file: (server) => ({
      format: 'json',
      place: {
        ...CLINE_PLACE,
        fileVariable: 'CLINE_MCP_SETTINGS_PATH',
        name: 'cline_mcp_settings.json',
      },
      settings: settingsOf({
        mcpServers: {
          [TITLE]: {
            type: 'streamableHttp',
            url: mcpUrl(server),
            headers: mcpHeaders(server),
            timeout: TOOL_CALL_SECONDS,
          },
        },
      }),
    }),
    tryIt: 'cline mcp',
  },
};

const continueDev: ConnectClient = {
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

const copilotCli: ConnectClient = {
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

const QWEN_KEY = 'CODEX_PROXY_KEY';

const qwenCode: ConnectClient = {
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
          ...settingsOf({
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

const pi: ConnectClient = {
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
        settings: settingsOf({
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
        settings: settingsOf({ defaultProvider: PROVIDER, defaultModel: id }),
      },
    ];
  },
  run: () => null,
  tryIt: 'pi -p "Say hello."',
};

const env: ConnectClient = {
  title: "programs with OpenAI's or Anthropic's SDK",
  page: null,
  files: () => [],
  run: (server) => ({
    program: null,
    words: [],
    variables: {
      OPENAI_BASE_URL: openAiUrl(server),
      OPENAI_API_KEY: server.key,
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_AUTH_TOKEN: server.key,
    },
  }),
  tryIt: 'node my-program.js',
};

/** All clients by the name that users type. The command and the pages in `docs/clients` are made from this table. */
export const CLIENTS = {
  claude,
  codex,
  opencode,
  cline,
  continue: continueDev,
  'copilot-cli': copilotCli,
  'qwen-code': qwenCode,
  pi,
  env,
} as const satisfies Record<string, ConnectClient>;

export type ConnectClientName = keyof typeof CLIENTS;
