/** `GET /v1/codex/config`. */
export interface ConfigAnswer {
  readonly codex_version: string;
  readonly app_server: unknown;
  readonly settings: Readonly<Record<string, unknown>>;
  /** `environment`, `config file` or `default`. */
  readonly setting_sources: Readonly<Record<string, string>>;
}

export interface SettingRow {
  readonly name: string;
  /** Empty: not set. */
  readonly value: string;
  readonly source: string;
}

interface Filter {
  readonly query: string;
  /** Leaves out what has its default. */
  readonly isChanged: boolean;
}

const shown = (value: unknown): string => {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** The settings that match, by name. */
export const settingRows = (
  { settings, setting_sources: sources }: ConfigAnswer,
  { query, isChanged }: Filter,
): readonly SettingRow[] => {
  const wanted = query.trim().toLowerCase();
  return Object.entries(settings)
    .map(([name, value]) => ({ name, value: shown(value), source: sources[name] ?? 'default' }))
    .filter(({ source }) => !isChanged || source !== 'default')
    .filter(({ name, value }) => `${name} ${value}`.toLowerCase().includes(wanted))
    .toSorted((one, other) => one.name.localeCompare(other.name));
};
