import { ALL_SETTINGS } from '../../src/compose/features.ts';
import { GROUPS, SLICES, type SettingRow } from '../../src/config/setting-row.ts';

const defaultOf = (row: SettingRow): string => {
  if (row.defaultInDocs !== undefined) return row.defaultInDocs;
  return row.default === null ? 'not set' : `\`${row.default}\``;
};

/** What the messages say in whole sentences is shorter in a table. */
const allowedOf = ({ type: { allowed, unit } }: SettingRow): string => {
  const short = allowed
    .replace(/^a whole number from (\S+) to (\S+)$/, '$1 to $2')
    .replace(/^true, false, 1 or 0$/, 'true, false')
    .replace(/^one of /, '')
    .replace(' (~ is the home directory)', '')
    .replace('an http or https URL without user name, password, query or fragment', 'an http or https URL');
  return unit === undefined ? short : `${short} ${unit}`;
};

const line = (name: string, row: SettingRow): string =>
  `| \`${name}\`${row.secret ? ' (secret)' : ''} | ${defaultOf(row)} | ${allowedOf(row)} | ${row.description} |`;

/** Every setting with its row, by group and slice. */
const SORTED = Object.entries(ALL_SETTINGS).toSorted(
  ([, one], [, other]) => SLICES.indexOf(one.slice) - SLICES.indexOf(other.slice),
);

const INTRODUCTION = `# Configuration

Settings are environment variables, or keys of a [config file](#config-file), and are read once at the start. The environment
wins over the file. An empty variable counts as not set. A value that is not allowed stops the start, with a message that names
every such setting; an unknown \`PROXY_\` variable is a warning. \`npm run doctor\` shows which settings are set and where, and
\`GET /v1/codex/config\` shows the values of those that cannot contain a name, a path or a secret. The variables of OpenTelemetry
(\`OTEL_…\`) are on [their own page](tracing.md).`;

const CONFIG_FILE = `## Config file

\`PROXY_CONFIG\` names a JSON file. If it is not set, \`config.json\` in the state directory is used if it exists
(\`~/.codex-app-server-proxy/config.json\` by default).

\`\`\`json
{
  "$schema": "/opt/codex-app-server-proxy/docs/config.schema.json",
  "port": 8080,
  "apiKey": ["sk-team-1", "sk-team-2"],
  "upstreamBaseUrl": "https://models.example/v1",
  "modelAliases": { "house-model": "gpt-5.5-high" },
  "toolTransport": ["llama-*=prose", "mistral-*=prose"],
  "mcpServers": {
    "tickets": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer \${TICKETS_TOKEN}" } }
  }
}
\`\`\`

- A key is the name of the setting without \`PROXY_\`, in camel case: \`PROXY_MODEL_ALIASES\` is \`modelAliases\`, \`CODEX_HOME\` is
  \`codexHome\`. \`PROXY_CONFIG\` itself is not one of them.
- Values are JSON: numbers, \`true\` and \`false\`, strings, objects. Lists are arrays; a list with one entry may be a string.
- \`mcpServers\` lists MCP servers in the form of [the MCP file](mcp.md#the-file), so no \`PROXY_MCP_CONFIG\` is needed. If the
  environment sets \`PROXY_MCP_CONFIG\`, the servers in that file are used instead.
- Only the file has \`prices\`, what a million tokens of a model cost, for [cost limits of keys](keys.md), and \`agent\`, limits of [agents](agents.md#workspaces).
- Relative paths are relative to the folder of the file; \`~\` is the home directory.
- An unknown key, a wrong type, invalid JSON (the message has the line and column) and a file that cannot be read stop the start. So
  does a file that another user owns or can write: it decides where your requests go. The file may contain secrets; they are
  never printed. Make it readable for yourself only (\`chmod 600\`).
- The \`config.json\` in the state directory cannot set \`stateDir\`. A file that \`PROXY_CONFIG\` names can.
- [\`config.schema.json\`](config.schema.json) is the JSON schema, for completion in an editor; \`$schema\` may name its path or URL, and this server does not read it.`;

const tableOf = (group: string): readonly string[] => [
  '| setting | default | allowed in the environment | what it does |',
  '|---|---|---|---|',
  ...SORTED.filter(([, row]) => row.group === group).map(([name, row]) => line(name, row)),
];

/** docs/configuration.md: one table per group. */
export const describeConfig = (): string =>
  [
    INTRODUCTION,
    ...Object.entries(GROUPS).map(([group, { title, about }]) =>
      [`## ${title}`, '', about, '', ...tableOf(group)].join('\n'),
    ),
    CONFIG_FILE,
    '',
  ].join('\n\n');
