import { SETTINGS, type Config, type SettingName, type Source } from './schema.ts';
import type { SettingRow } from './setting-row.ts';

type Shown = string | number | boolean | null;

const PLAIN = (Object.entries(SETTINGS) as [SettingName, SettingRow][]).filter(
  ([, { type, secret }]) => type.isPlain === true && secret !== true,
);

/** The settings that every holder of a key may see: numbers and known words, no free text. */
export const shownSettings = (config: Config): Readonly<Record<string, Shown>> =>
  Object.fromEntries(
    PLAIN.map(([name, { slice, field }]) => [
      name,
      (config[slice] as Readonly<Record<string, Shown>>)[field] ?? null,
    ]),
  );

/** Where the values of those settings come from. */
export const shownSources = ({ sources }: Config): Readonly<Record<string, Source>> =>
  Object.fromEntries(PLAIN.map(([name]) => [name, sources[name]]));
