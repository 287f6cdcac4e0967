import { untrusted } from '../codex/home/trusted-path.ts';
import { loadConfig } from '../compose/feature-tables.ts';
import { ConfigError } from '../config/load.ts';
import type { Config } from '../config/schema.ts';

/** Loads the configuration. Throws `ConfigError` if it is invalid, or if another user may change its file. */
export const loadSettings = async (
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Config> => {
  const config = loadConfig(environment);
  const { configFile } = config.state;
  if (configFile === null) return config;
  const problem = await untrusted(configFile, 'name another config file with PROXY_CONFIG');
  if (problem !== null) throw new ConfigError([`Config file ${configFile}: ${problem}`]);
  return config;
};
