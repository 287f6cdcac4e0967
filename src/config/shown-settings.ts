import type { Config, Source } from './schema.ts';
import type { SettingRow, SettingTable } from './setting-row.ts';

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
export const shownSources = ({ sources }: Config, settings: SettingTable): Readonly<Record<string, Source>> =>
  Object.fromEntries(plain(settings).map(([name]) => [name, sources[name] ?? 'default']));
