import type { Migration } from '../../../store/migrations/migration.ts';
import { countKept } from '../../../store/queries/kept.ts';

/** Large columns come last: SQLite then reads the others without them. */
const tables: Migration = ({ text, byKeyAlone }) => [
  `create table segments (
    id ${text} primary key,
    owner ${text} not null,
    kind ${text} not null,
    from_segment ${text} references segments (id),
    from_pos integer,
    tip integer not null,
    locked_until bigint,
    locked_by ${text},
    cache_key ${text} not null,
    created_at bigint not null,
    expires_at bigint not null,
    sweep_at bigint not null,
    body ${text}
  )`,
  'create index segments_sweep on segments (sweep_at)',
  'create index segments_forks on segments (from_segment, from_pos) where from_segment is not null',
  `create table turns (
    segment_id ${text} not null references segments (id) on delete cascade,
    pos integer not null,
    key ${text} not null unique,
    owner ${text} not null,
    response_id ${text},
    total_chars bigint not null,
    body ${text} not null,
    primary key (segment_id, pos)
  )`,
  `create table item_index (
    owner ${text} not null,
    id ${text} not null,
    segment_id ${text} not null references segments (id) on delete cascade,
    pos integer not null,
    primary key (owner, id)
  ) ${byKeyAlone}`,
  'create index item_index_turn on item_index (segment_id, pos)',
  `create table responses (
    id ${text} primary key,
    owner ${text} not null,
    segment_id ${text},
    pos integer,
    status ${text} not null,
    is_background integer not null,
    lease_by ${text},
    lease_beat bigint,
    created_at bigint not null,
    expires_at bigint not null,
    body ${text} not null
  )`,
  'create index responses_expiry on responses (expires_at)',
  'create index responses_lease on responses (id) where lease_by is not null',
  'create index responses_turn on responses (segment_id, pos) where segment_id is not null',
  `create table run_events (
    response_id ${text} not null,
    first integer not null,
    last integer not null,
    chars integer not null,
    expires_at bigint not null,
    body ${text} not null,
    primary key (response_id, first)
  )`,
  'create index run_events_expiry on run_events (expires_at)',
  `create table chat_completions (
    id ${text} primary key,
    owner ${text} not null,
    model ${text} not null,
    created_at bigint not null,
    expires_at bigint not null,
    metadata ${text} not null,
    body ${text} not null,
    messages ${text} not null
  )`,
  'create index chat_completions_expiry on chat_completions (expires_at)',
  'create index chat_completions_list on chat_completions (owner, created_at, id)',
  `create table chat_metadata (
    owner ${text} not null,
    pair ${text} not null,
    chat_id ${text} not null references chat_completions (id) on delete cascade,
    primary key (owner, pair, chat_id)
  ) ${byKeyAlone}`,
  'create index chat_metadata_chat on chat_metadata (chat_id)',
];

/** Lists of conversations for operators: of all owners, and of one. */
const segmentLists: Migration = () => [
  'alter table segments add column updated_at bigint',
  'create index segments_list on segments (created_at, id)',
  'create index segments_owner on segments (owner, created_at, id)',
];

/** How many bytes are kept for each API key. */
const keptBytes: Migration = ({ kind, text }) => [
  // Null: a row of an earlier version, which lives for minutes and is not counted.
  `alter table run_events add column owner ${text}`,
  ...countKept(kind, 'segments', ['cache_key', 'body']),
  ...countKept(kind, 'turns', ['body']),
  ...countKept(kind, 'responses', ['body']),
  ...countKept(kind, 'run_events', ['body']),
  ...countKept(kind, 'chat_completions', ['metadata', 'body', 'messages']),
];

export const STATE_MIGRATIONS: Readonly<Record<number, Migration>> = {
  1: tables,
  4: segmentLists,
  7: keptBytes,
};
