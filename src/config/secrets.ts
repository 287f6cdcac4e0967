import { mcpSecrets } from '../canonical/mcp/mcp-server.ts';
import type { Config } from './schema.ts';
import type { SettingTable } from './setting-row.ts';

/** All values of the configuration that must not get out. */
export const secretsOf = (config: Config, settings: SettingTable): readonly string[] => [
  ...Object.values(settings)
    .filter((row) => row.secret === true)
    .flatMap(({ slice, field }) => (config[slice] as Readonly<Record<string, unknown>>)[field])
    .filter((value) => typeof value === 'string'),
  ...config.mcpServers.flatMap(mcpSecrets),
];
