/**
 * The tables, the same in both databases; those of features are with their feature. Times are milliseconds since the Unix epoch. A `Sealed` column is what a `Seal`
 * made of a text.
 */
export interface Tables {
  memory: MemoryTable;
  kept_bytes: KeptBytesTable;
  schema_version: SchemaVersionTable;
}

export type Sealed = string;

export interface MemoryTable {
  kind: string;
  key: string;
  expires_at: number;
  value: Sealed;
}

/** A part of the bytes that are kept for an API key: the sum of its rows counts. Only triggers write it. */
export interface KeptBytesTable {
  owner: string;
  shard: number;
  bytes: number;
}

/** One row for each migration. */
export interface SchemaVersionTable {
  version: number;
  applied_at: number;
}
