import { SETTINGS, type Config } from './schema.ts';
import type { SettingRow } from './setting-row.ts';

type Shown = string | number | boolean | null;

/** The settings that whoever has a key may see: those whose type can hold nothing but numbers and a few words. */
export const shownSettings = (config: Config): Readonly<Record<string, Shown>> =>
  Object.fromEntries(
    Object.entries<SettingRow>(SETTINGS)
      .filter(([, { type, secret }]) => type.isPlain === true && secret !== true)
      .map(([name, { slice, field }]) => [
        name,
        (config[slice] as Readonly<Record<string, Shown>>)[field] ?? null,
      ]),
  );
