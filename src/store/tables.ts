import type { ResponseStatus } from './store.ts';

/**
 * The tables, the same in both databases; those of features are with their feature. Times are milliseconds since the Unix epoch. A `Sealed` column is what a `Seal`
 * made of a text.
 */
export interface Tables {
  segments: SegmentTable;
  turns: TurnTable;
  item_index: ItemIndexTable;
  responses: ResponseTable;
  run_events: EventTable;
  chat_completions: ChatTable;
  chat_metadata: ChatMetadataTable;
  memory: MemoryTable;
  kept_bytes: KeptBytesTable;
  schema_version: SchemaVersionTable;
}

export type Sealed = string;

/** An append-only list of turns: a conversation with a name, or a chain of responses. */
export interface SegmentTable {
  id: string;
  owner: string;
  kind: 'chain' | 'conversation';
  from_segment: string | null;
  from_pos: number | null;
  /** The position of its last turn; -1: it has none. */
  tip: number;
  locked_until: number | null;
  locked_by: string | null;
  cache_key: Sealed;
  created_at: number;
  expires_at: number;
  /** When the sweep looks at it: at `expires_at`, or later if segments were forked from it. */
  sweep_at: number;
  /** Null: not a conversation. */
  body: Sealed | null;
  /** When something was written to it; null: not since version 4 of the schema. */
  updated_at: number | null;
}

export interface TurnTable {
  segment_id: string;
  pos: number;
  key: string;
  owner: string;
  response_id: string | null;
  /** The characters of all bodies up to this one, also of the segments before. */
  total_chars: number;
  body: Sealed;
}

/** Where the output item with this id is. */
export interface ItemIndexTable {
  owner: string;
  id: string;
  segment_id: string;
  pos: number;
}

export interface ResponseTable {
  id: string;
  owner: string;
  /** Null until it has ended. */
  segment_id: string | null;
  pos: number | null;
  status: ResponseStatus;
  /** 0 or 1. */
  is_background: number;
  /** Null: it does not run. */
  lease_by: string | null;
  lease_beat: number | null;
  created_at: number;
  expires_at: number;
  body: Sealed;
}

export interface EventTable {
  response_id: string;
  first: number;
  last: number;
  chars: number;
  expires_at: number;
  body: Sealed;
  /** Null: written before version 7 of the schema. */
  owner: string | null;
}

export interface ChatTable {
  id: string;
  owner: string;
  model: string;
  created_at: number;
  expires_at: number;
  metadata: Sealed;
  body: Sealed;
  messages: Sealed;
}

/** One row for each pair of a chat completion's metadata. */
export interface ChatMetadataTable {
  owner: string;
  /** A digest of the key and the value. */
  pair: string;
  chat_id: string;
}

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
