import type { McpServer } from '../canonical/mcp/mcp-server.ts';
import { BACKEND_SETTINGS } from './backend-settings.ts';
import { CLIENT_SETTINGS } from './client-settings.ts';
import { FAMILY_SETTINGS } from './family-settings.ts';
import type { SettingRow, Slice } from './setting-row.ts';
import { TOOL_SETTINGS } from './tool-settings.ts';
import type { ValueType } from './value.ts';

/** Every setting there is. `Config`, the loader and docs/configuration.md are made from this table. */
export const SETTINGS = { ...CLIENT_SETTINGS, ...FAMILY_SETTINGS, ...TOOL_SETTINGS, ...BACKEND_SETTINGS };

type Settings = typeof SETTINGS;
type SettingName = keyof Settings;

type Value<R extends SettingRow> =
  | (R['type'] extends ValueType<infer Output> ? Output : never)
  | (R['default'] extends null ? null : never);

type RowOf<S extends Slice> = Extract<Settings[SettingName], { readonly slice: S }>;

/** The whole configuration: frozen, read once, handed on in slices. */
export type Config = {
  readonly [S in Slice]: { readonly [R in RowOf<S> as R['field']]: Value<R> };
} & {
  /** What the file of PROXY_MCP_CONFIG names. */
  readonly mcpServers: readonly McpServer[];
  /** What is odd but does not stop a start, such as a misspelt key. */
  readonly warnings: readonly string[];
};
