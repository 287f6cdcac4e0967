import { ALL_SETTINGS } from '../../compose/feature-tables.ts';
import type { Config } from '../../config/schema.ts';
import { GROUPS } from '../../config/setting-row.ts';
import type { JsonObject } from '../../kit/json/json.ts';

const namesOf = ({ sources }: Config): readonly string[] =>
  Object.keys(sources).filter((name) => sources[name] !== 'default');

/** Which settings are set and where, by group. Without values, because some are secrets. */
export const describeSources = (config: Config): string => {
  const groups = Object.entries(GROUPS).flatMap(([group, { title }]) => {
    const names = namesOf(config).filter((name) => ALL_SETTINGS[name]?.group === group);
    const list = names.map((name) => `${name} (${config.sources[name]})`).join(', ');
    return names.length === 0 ? [] : [`${title}: ${list}`];
  });
  const { configFile } = config.state;
  return ['valid', ...(configFile === null ? [] : [`config file ${configFile}`]), ...groups].join('; ');
};

/** The same for `--json`. */
export const sourcesFacts = (config: Config): JsonObject => ({
  configFile: config.state.configFile,
  sources: Object.fromEntries(namesOf(config).map((name) => [name, config.sources[name]])),
});
