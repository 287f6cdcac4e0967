import type { McpServer } from '../canonical/mcp/mcp-server.ts';
import type { ModelPrices } from '../canonical/models/prices.ts';
import { BACKEND_SETTINGS } from './backend-settings.ts';
import { CLIENT_SETTINGS } from './client-settings.ts';
import { FAMILY_SETTINGS } from './family-settings.ts';
import { PROVIDER_SETTINGS } from './provider-settings.ts';
import type { SettingRow, Slice } from './setting-row.ts';
import { STATE_SETTINGS } from './state-settings.ts';
import { TOOL_SETTINGS } from './tool-settings.ts';
import type { ValueType } from './value.ts';

/** Every setting. `Config`, the loader, docs/configuration.md and docs/config.schema.json are made from this table. */
export const SETTINGS = {
  ...CLIENT_SETTINGS,
  ...FAMILY_SETTINGS,
  ...TOOL_SETTINGS,
  ...BACKEND_SETTINGS,
  ...PROVIDER_SETTINGS,
  ...STATE_SETTINGS,
};

type Settings = typeof SETTINGS;
export type SettingName = keyof Settings;

type Value<R extends SettingRow> =
  | (R['type'] extends ValueType<infer Output> ? Output : never)
  | (null extends R['default'] ? null : never);

type RowOf<S extends Slice> = Extract<Settings[SettingName], { readonly at: `${S}.${string}` }>;
type FieldOf<S extends Slice, At> = At extends `${S}.${infer Field}` ? Field : never;

export type Source = 'environment' | 'config file' | 'default';

/** The whole configuration: frozen, read once, passed on in slices. */
export type Config = {
  readonly [S in Slice]: { readonly [R in RowOf<S> as FieldOf<S, R['at']>]: Value<R> };
} & {
  /** From the file of `PROXY_MCP_CONFIG`, or from the config file. */
  readonly mcpServers: readonly McpServer[];
  /** What tokens cost, for limits of keys; only the config file has them. */
  readonly prices: ModelPrices;
  /** Where each value comes from. */
  readonly sources: Readonly<Record<SettingName, Source>>;
  /** Mistakes that do not stop the start, such as a misspelt key. */
  readonly warnings: readonly string[];
};
