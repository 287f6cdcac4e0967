import path from 'node:path';

import { isJsonObject } from '../kit/json/json.ts';
import { AGENT_LIMITS } from './agent-limits.ts';
import { configFileIn, fileProblem, readConfigFile, type ConfigFile } from './config-file.ts';
import { NO_SERVERS, readMcpFile, readConfiguredServers, type McpFile } from './mcp-file.ts';
import { folderOfConfiguration, type ProtectedFolder } from './workspace-entries.ts';
import { SETTINGS, type Config, type SettingSource } from './schema.ts';
import { fileKeyOf, SLICES, type SettingRow, type SettingTable } from './setting-row.ts';
import { absolutePath } from './paths.ts';

/** Lists everything that is wrong with the settings. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

type Parsed = { readonly value: unknown } | { readonly problem: string };

/** `KEY=` in an env file counts as not set. */
const textOf = (env: Environment, name: string): string | null => env[name]?.trim() || null;

const MAX_SHOWN = 200;

/** Hides secrets, and the password that a URL may contain by mistake. */
const shown = (row: SettingRow, value: unknown): string => {
  if (row.secret) return 'the value (not shown)';
  const text = JSON.stringify(value).replace(/\/\/[^/]*@/, '//***@');
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
};

/** `base`: the folder for relative paths. */
const checked = (row: SettingRow, value: unknown, base: string): Parsed => {
  // zod drops this key from a record.
  const isOdd = isJsonObject(value) && Object.hasOwn(value, '__proto__');
  const parsed = row.type.schema.safeParse(isOdd ? null : value);
  if (!parsed.success) return { problem: shown(row, value) };
  return { value: row.type.isPath ? absolutePath(parsed.data as string, base) : parsed.data };
};

const fromText = (row: SettingRow, text: string): Parsed => {
  const parsed = checked(row, row.type.decode?.(text) ?? text, process.cwd());
  return 'problem' in parsed ? { problem: shown(row, text) } : parsed;
};

interface SourcedValue {
  readonly parsed: Parsed;
  readonly source: SettingSource;
}

const readSetting = (
  name: string,
  row: SettingRow,
  env: Environment,
  file: ConfigFile | null,
): SourcedValue => {
  const text = textOf(env, name);
  if (text !== null) {
    const parsed = fromText(row, text);
    return { source: 'environment', parsed: explained(parsed, name, row.type.allowed) };
  }
  if (file?.values.has(name) === true) {
    const parsed = checked(row, file.values.get(name), path.dirname(file.path));
    const place = fileProblem(file.path, fileKeyOf(name));
    const { allowed, allowedInFile = allowed } = row.type;
    return { source: 'config file', parsed: explained(parsed, place, allowedInFile) };
  }
  const parsed = row.default === null ? { value: null } : fromText(row, row.default);
  return { source: 'default', parsed: explained(parsed, name, row.type.allowed) };
};

const explained = (parsed: Parsed, place: string, allowed: string): Parsed =>
  'problem' in parsed
    ? { problem: `${place}: ${parsed.problem} is not allowed; allowed is ${allowed}.` }
    : parsed;

/** The file of `PROXY_CONFIG`, or else `config.json` in the state directory; null: neither exists. */
const openConfigFile = (env: Environment, settings: SettingTable): ConfigFile | null => {
  const named = textOf(env, 'PROXY_CONFIG');
  const { PROXY_CONFIG, PROXY_STATE_DIR } = SETTINGS;
  const { parsed } =
    named === null
      ? readSetting('PROXY_STATE_DIR', PROXY_STATE_DIR, env, null)
      : readSetting('PROXY_CONFIG', PROXY_CONFIG, env, null);
  // Reading all settings reports this problem.
  if ('problem' in parsed) return null;
  const found = parsed.value as string;
  return readConfigFile(named === null ? configFileIn(found) : found, named !== null, settings);
};

const unknownKeys = (env: Environment, settings: SettingTable): string[] =>
  Object.keys(env)
    .filter((name) => name.startsWith('PROXY_') && env[name] !== undefined && !Object.hasOwn(settings, name))
    .toSorted()
    .map((name) => `${name} is not a setting of this server and has no effect.`);

const withoutEffect = (sources: Readonly<Record<string, SettingSource>>, settings: SettingTable): string[] =>
  Object.entries(settings).flatMap(([name, { noEffect }]) =>
    noEffect === undefined || sources[name] === 'default' ? [] : [`${name} has no effect: ${noEffect}.`],
  );

/** Warns about a provider's key without a provider: another backend would answer, or none. */
const keysWithoutProvider = (values: Readonly<Record<string, unknown>>): string[] =>
  Object.keys(values).flatMap((name) => {
    const base = name.replace(/_API_KEY$/, '_BASE_URL');
    return base in values && base !== name && values[name] !== null && values[base] === null
      ? [`${name} has no effect without ${base}.`]
      : [];
  });

/** A file that is named wins over the servers in the config file: the environment can name one. */
const readServers = (slices: Slices, file: ConfigFile | null, env: Environment): McpFile => {
  const named = slices['mcp']?.['configFile'];
  const hidden = [...foldersOfSecrets(slices), ...(file === null ? [] : [folderOfConfiguration(file.path)])];
  if (typeof named === 'string') return readMcpFile(named, env, hidden);
  const entries = file?.mcpServers ?? null;
  return file === null || entries === null
    ? NO_SERVERS
    : readConfiguredServers(
        entries,
        { prefix: `Config file ${file.path}`, file: file.path, environment: env },
        hidden,
      );
};

type Slices = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The folders of keys, logins and stored content. One that is wrong is another problem. */
const foldersOfSecrets = (slices: Slices): readonly ProtectedFolder[] =>
  [
    { name: 'the state folder', path: slices['state']?.['dir'] },
    { name: 'the codex home', path: slices['upstream']?.['codexHome'] ?? absolutePath('~/.codex', '/') },
  ].flatMap(({ name, path: place }) => (typeof place === 'string' ? [{ name, path: place }] : []));

/** The files of the configuration. They may lie where commands see everything else, such as in /etc. */
const secretPathsOf = (slices: Slices, file: ConfigFile | null): readonly string[] =>
  [slices['mcp']?.['configFile'], file?.path].filter((place) => typeof place === 'string');

const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
};

/** Reads these settings from the environment and the config file. Throws `ConfigError` if anything is not allowed. */
export const readConfig = (env: Environment, settings: SettingTable): Config => {
  const file = openConfigFile(env, settings);
  const slices: Record<string, Record<string, unknown>> = Object.fromEntries(
    SLICES.map((slice) => [slice, {}]),
  );
  const values: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  const problems = [...(file?.problems ?? [])];
  for (const [name, row] of Object.entries(settings)) {
    const { slice, field } = row;
    const { parsed, source } = readSetting(name, row, env, file);
    sources[name] = source;
    if ('problem' in parsed) problems.push(parsed.problem);
    else {
      values[name] = parsed.value;
      Object.assign(slices[slice] ?? {}, { [field]: parsed.value });
    }
  }
  Object.assign(slices['state'] ?? {}, { configFile: file?.path ?? null });
  const mcp = readServers(slices, file, env);
  problems.push(...mcp.problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const warnings = [
    ...unknownKeys(env, settings),
    ...withoutEffect(sources, settings),
    ...keysWithoutProvider(values),
    ...mcp.warnings,
  ];
  return deepFreeze({
    ...slices,
    mcpServers: mcp.servers,
    workspaces: mcp.workspaces,
    secretPaths: secretPathsOf(slices, file),
    prices: file?.prices ?? {},
    agentLimits: file?.agentLimits ?? AGENT_LIMITS,
    sources,
    warnings,
  }) as unknown as Config;
};
