import { readMcpFile, type McpFile } from './mcp-file.ts';
import { SETTINGS } from './schema.ts';
import { SLICES, type SettingRow } from './setting-row.ts';
import type { Config } from './schema.ts';

/** Everything that is wrong with the environment, at once. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

type Read = { readonly value: unknown } | { readonly problem: string };

/** A URL may hold a password where none is allowed: the message about it must not show it. */
const shown = (row: SettingRow, text: string): string =>
  row.secret ? 'the value (not shown)' : JSON.stringify(text.replace(/\/\/[^/]*@/, '//***@'));

const readSetting = (name: string, row: SettingRow, given: string | undefined): Read => {
  // `KEY=` in an env file means that nobody chose a value.
  const text = given === undefined || given.trim() === '' ? row.default : given.trim();
  if (text === null) return { value: null };
  const parsed = row.type.schema.safeParse(text);
  if (parsed.success) return { value: parsed.data };
  return { problem: `${name}: ${shown(row, text)} is not allowed; allowed is ${row.type.allowed}.` };
};

const unknownKeys = (env: Environment): string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith('PROXY_') && env[name] !== undefined && !Object.hasOwn(SETTINGS, name))
    .toSorted()
    .map((name) => `${name} is not a setting of this server and has no effect.`);

/** Whoever sets it means a provider, and would wonder why another backend answers. */
const keyOfNobody = (upstream: Record<string, unknown> | undefined): string[] =>
  (upstream?.['apiKey'] ?? null) !== null && (upstream?.['baseUrl'] ?? null) === null
    ? ['PROXY_UPSTREAM_API_KEY has no effect without PROXY_UPSTREAM_BASE_URL.']
    : [];

const NO_SERVERS: McpFile = { servers: [], problems: [], warnings: [] };

const mcpFileOf = (mcp: Record<string, unknown> | undefined, env: Environment): McpFile => {
  const file = mcp?.['configFile'];
  return typeof file === 'string' ? readMcpFile(file, env) : NO_SERVERS;
};

const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
};

export const loadConfig = (env: Environment): Config => {
  const slices: Record<string, Record<string, unknown>> = {};
  for (const slice of Object.keys(SLICES)) slices[slice] = {};
  const problems: string[] = [];
  for (const [name, row] of Object.entries<SettingRow>(SETTINGS)) {
    const read = readSetting(name, row, env[name]);
    if ('problem' in read) problems.push(read.problem);
    else Object.assign(slices[row.slice] ?? {}, { [row.field]: read.value });
  }
  const mcp = mcpFileOf(slices['mcp'], env);
  problems.push(...mcp.problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const warnings = [...unknownKeys(env), ...keyOfNobody(slices['upstream']), ...mcp.warnings];
  return deepFreeze({ ...slices, mcpServers: mcp.servers, warnings }) as unknown as Config;
};
