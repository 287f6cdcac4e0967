import type { ValueType } from './value.ts';

/** The slices of the configuration: `config[slice][field]`. Within a group the docs follow this order. */
export const SLICES = [
  'http',
  'upstream',
  'state',
  'api',
  'clients',
  'tools',
  'images',
  'forwarding',
  'mcp',
  'codex',
  'load',
  'worker',
  'log',
] as const;

export type Slice = (typeof SLICES)[number];

/** Who needs a setting, in the order of the docs. */
export const GROUPS = {
  everyday: {
    title: 'Everyday',
    about: 'Most people need no others.',
  },
  deployment: {
    title: 'Deployment',
    about: 'For a server that several people use: networks, logs, and what clients may do.',
  },
  documents: {
    title: 'Required by the documents',
    about:
      'The documents behind [requirements](requirements.md) ask for these. The defaults are what most clients expect.',
  },
  tuning: {
    title: 'Tuning',
    about: 'Limits and times. The defaults are measured; change one only if a metric or an error names it.',
  },
} as const;

export type Group = keyof typeof GROUPS;

export interface SettingRow {
  readonly group: Group;
  /** Where the value is found: `config[slice][field]`. The field names its unit. */
  readonly at: `${Slice}.${string}`;
  readonly slice: Slice;
  readonly field: string;
  readonly type: ValueType<unknown>;
  /** As written in the environment; null: the value is null when the setting is not set. */
  readonly default: string | null;
  /** For a default that depends on the machine: what the docs say. */
  readonly defaultInDocs?: string;
  readonly secret?: true;
  /** The config file cannot set it. */
  readonly environmentOnly?: true;
  /** Why setting it changes nothing at present; a warning at the start says so. */
  readonly noEffect?: string;
  /** The first sentence is also the line of `--help`. */
  readonly description: string;
  /** Of a feature's setting: the one before it in the docs. */
  readonly after?: string;
}

/** Settings by their names in the environment. */
export type SettingTable = Readonly<Record<string, SettingRow>>;

/** A row as the tables have it; `at` says the slice and the field, and without a default it is null. */
type Given = Omit<SettingRow, 'group' | 'slice' | 'field' | 'default'> & { readonly default?: string };

const inGroup =
  (group: Group) =>
  <const Row extends Given>(row: Row): Omit<SettingRow, keyof Row> & Row => {
    const [slice, field] = row.at.split('.') as [Slice, string];
    return { default: null, ...row, group, slice, field };
  };

export const everyday = inGroup('everyday');
export const deployment = inGroup('deployment');
export const documents = inGroup('documents');
export const tuning = inGroup('tuning');

/** The name of a setting in the config file: `PROXY_MODEL_ALIASES` is `modelAliases`. */
export const fileKeyOf = (name: string): string =>
  name
    .replace(/^PROXY_/, '')
    .toLowerCase()
    .replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
