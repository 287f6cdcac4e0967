import { type Client, type ServerFacts, type Variables, valuesOf } from '../client.ts';

/** Claude Code takes a window of 1,000,000 tokens for granted. Both variables are needed: one for the models it knows, one for others. */
const claudeVariables = ({ url, key, model }: ServerFacts): Variables => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_AUTH_TOKEN: key,
  ...(model.isChosen ? { ANTHROPIC_MODEL: model.id } : {}),
  CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(model.contextWindow),
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(model.contextWindow),
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
});

export const claude: Client = {
  title: 'Claude Code',
  page: 'claude-code.md',
  files: (server) => [
    {
      format: 'json',
      place: { variables: [['CLAUDE_CONFIG_DIR', '']], folder: '.claude', name: 'settings.json' },
      settings: valuesOf({ env: claudeVariables(server) }),
    },
  ],
  run: (server) => ({ program: 'claude', words: [], variables: claudeVariables(server) }),
  tryIt: 'claude -p "Say hello."',
};
