import { mcpSecrets } from '../canonical/mcp/mcp-server.ts';
import { SETTINGS, type Config } from './schema.ts';
import type { SettingRow } from './setting-row.ts';

/** All values of the configuration that must not get out. */
export const secretsOf = (config: Config): readonly string[] => [
  ...Object.values<SettingRow>(SETTINGS)
    .filter((row) => row.secret === true)
    .flatMap(({ slice, field }) => (config[slice] as Readonly<Record<string, unknown>>)[field])
    .filter((value) => typeof value === 'string'),
  ...config.mcpServers.flatMap(mcpSecrets),
];
