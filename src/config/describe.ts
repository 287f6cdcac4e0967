import { SETTINGS } from './schema.ts';
import { SLICES, type SettingRow } from './setting-row.ts';

const defaultOf = (row: SettingRow): string => {
  if (row.defaultInDocs !== undefined) return row.defaultInDocs;
  return row.default === null ? 'not set' : `\`${row.default}\``;
};

const allowedOf = (row: SettingRow): string =>
  row.unit === undefined ? row.type.allowed : `${row.type.allowed} (${row.unit})`;

const line = (name: string, row: SettingRow): string =>
  `| \`${name}\`${row.secret ? ' (secret)' : ''} | ${defaultOf(row)} | ${allowedOf(row)} | ${row.description} |`;

/** The tables of docs/configuration.md, one per slice. */
export const describeConfig = (): string => {
  const rows = Object.entries<SettingRow>(SETTINGS);
  const sections = Object.entries(SLICES).map(([slice, title]) =>
    [
      `## ${title}`,
      '',
      '| key | default | allowed | what it does |',
      '|---|---|---|---|',
      ...rows.filter(([, row]) => row.slice === slice).map(([name, row]) => line(name, row)),
    ].join('\n'),
  );
  return [
    '# Configuration',
    '',
    'All settings are environment variables, read once at the start. An empty value counts as not set.',
    'A value that is not allowed stops the start, with a message that names every such key; an unknown',
    '`PROXY_` key is a warning.',
    '',
    sections.join('\n\n'),
    '',
  ].join('\n');
};
