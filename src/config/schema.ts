import { type McpServer, mcpSecrets } from '../canonical/mcp/mcp-server.ts';
import type { Workspace } from '../canonical/mcp/workspace.ts';
import type { ModelPrices } from '../canonical/models/prices.ts';
import type { AgentLimits } from './agent-limits.ts';
import { BACKEND_SETTINGS } from './backend-settings.ts';
import { CLIENT_SETTINGS, FAMILY_SETTINGS } from './client-settings.ts';
import type { SettingRow, SettingTable, Slice } from './setting-row.ts';
import { STATE_SETTINGS } from './state-settings.ts';
import { TOOL_SETTINGS } from './tool-settings.ts';
import type { ValueType } from './value.ts';

/**
 * The settings that belong to no feature. `Config`, the loader, docs/configuration.md and docs/config.schema.json are made
 * from this table and those of the features.
 */
export const SETTINGS = {
  ...CLIENT_SETTINGS,
  ...FAMILY_SETTINGS,
  ...TOOL_SETTINGS,
  ...BACKEND_SETTINGS,
  ...STATE_SETTINGS,
};

type Settings = typeof SETTINGS;

type Value<R extends SettingRow> =
  | (R['type'] extends ValueType<infer Output> ? Output : never)
  | (null extends R['default'] ? null : never);

type RowOf<S extends Slice> = Extract<Settings[keyof Settings], { readonly at: `${S}.${string}` }>;
type FieldOf<S extends Slice, At> = At extends `${S}.${infer Field}` ? Field : never;

export type SettingSource = 'environment' | 'config file' | 'default';

/** The values of a table by their fields: what a feature gets of the configuration. */
export type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table as FieldOf<Slice, Table[Name]['at']>]: Value<Table[Name]>;
};

export const valuesOf = <Table extends SettingTable>(table: Table, config: Config): ValuesOf<Table> =>
  Object.fromEntries(
    Object.values(table).map(({ slice, field }) => [
      field,
      (config[slice] as Readonly<Record<string, unknown>>)[field],
    ]),
  ) as ValuesOf<Table>;

/** The whole configuration: frozen, read once, passed on in slices. The settings of features have no types here. */
export type Config = {
  readonly [S in Slice]: { readonly [R in RowOf<S> as FieldOf<S, R['at']>]: Value<R> };
} & {
  /** From the file of `PROXY_MCP_CONFIG`, or from the config file. */
  readonly mcpServers: readonly McpServer[];
  /** The folders in which codex may work, from the same place. */
  readonly workspaces: readonly Workspace[];
  /** The files of the configuration, which commands in workspaces never see. */
  readonly secretPaths: readonly string[];
  /** Of sessions of agents; only the config file has them. */
  readonly agentLimits: AgentLimits;
  /** What tokens cost, for limits of keys; only the config file has them. */
  readonly prices: ModelPrices;
  /** Where each value comes from. */
  readonly sources: Readonly<Record<string, SettingSource>>;
  /** Mistakes that do not stop the start, such as a misspelt key. */
  readonly warnings: readonly string[];
};

/** All values of the configuration that must not get out. */
export const secretsOf = (config: Config, settings: SettingTable): readonly string[] => [
  ...Object.values(settings)
    .filter((row) => row.secret === true)
    .flatMap(({ slice, field }) => (config[slice] as Readonly<Record<string, unknown>>)[field])
    .filter((value) => typeof value === 'string'),
  ...config.mcpServers.flatMap(mcpSecrets),
  ...config.workspaces.flatMap(({ env }) => Object.values(env)),
];

type Shown = string | number | boolean | null;

const plain = (settings: SettingTable): readonly [string, SettingRow][] =>
  Object.entries(settings).filter(([, { type, secret }]) => type.isPlain === true && secret !== true);

/** The settings that every holder of a key may see: numbers and known words, no free text. */
export const shownSettings = (config: Config, settings: SettingTable): Readonly<Record<string, Shown>> =>
  Object.fromEntries(
    plain(settings).map(([name, { slice, field }]) => [
      name,
      (config[slice] as Readonly<Record<string, Shown>>)[field] ?? null,
    ]),
  );

/** Where the values of those settings come from. */
export const shownSources = (
  { sources }: Config,
  settings: SettingTable,
): Readonly<Record<string, SettingSource>> =>
  Object.fromEntries(plain(settings).map(([name]) => [name, sources[name] ?? 'default']));
