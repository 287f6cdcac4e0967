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
  api_keys: KeyTable;
  api_key_secrets: KeySecretTable;
  api_key_state: KeyStateTable;
  requests: RequestTable;
  limit_counters: LimitCounterTable;
  limit_reservations: LimitReservationTable;
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

export interface KeyTable {
  id: string;
  version: number;
  hint: string;
  created_at: number;
  expires_at: number | null;
  paused_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
  body: string;
}

export interface KeySecretTable {
  key_id: string;
  hash: string;
  created_at: number;
  expires_at: number | null;
}

/** One row, with the id 1. */
export interface KeyStateTable {
  id: number;
  /** Of the last change of a key. */
  version: number;
  /** How many keys there are. */
  keys: number;
}

/** A request that has ended. */
export interface RequestTable {
  id: string;
  request_id: string;
  response_id: string | null;
  instance: string;
  key_id: string | null;
  client: string | null;
  model: string | null;
  status: number;
  error_code: string | null;
  expires_at: number;
  body: Sealed;
  spans: Sealed;
}

/** What a key has used in the current window of one of its limits. */
export interface LimitCounterTable {
  key_id: string;
  name: string;
  /** The id of the reservation that began the window: no two windows have the same. */
  window_id: string;
  /** Includes what is reserved. */
  used: number;
  began_at: number;
  resets_at: number;
}

/** What a running request has reserved. Without its row, it was settled. */
export interface LimitReservationTable {
  id: string;
  key_id: string;
  expires_at: number;
  /** JSON: the name of each limit, the id of its window, and the amount. */
  amounts: string;
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
