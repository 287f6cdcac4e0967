import type { ValueType } from './value.ts';

/** The slices of the configuration, in the order of the docs. */
export const SLICES = {
  http: 'HTTP server',
  load: 'How much at once',
  upstream: 'Backend',
  state: 'Files of this server',
  api: 'How requests and answers are shaped',
  clients: 'Families of clients',
  tools: 'Tools',
  images: 'Images',
  codex: 'What codex may do',
  mcp: 'MCP servers',
  worker: 'App-server processes',
  log: 'Logs',
} as const;

export type Slice = keyof typeof SLICES;

export interface SettingRow {
  /** Where the value is found: `config[slice][field]`. The field names its unit. */
  readonly slice: Slice;
  readonly field: string;
  readonly type: ValueType<unknown>;
  /** As it would be written in the environment; null: the value is null when the key is not set. */
  readonly default: string | null;
  /** For a default that depends on the machine: what the docs say. */
  readonly defaultInDocs?: string;
  readonly unit?: string;
  readonly secret?: true;
  readonly description: string;
}
