import type { Migration } from '../../../store/migrations/migration.ts';
import { countKept } from '../../../store/queries/kept.ts';

/** Large columns come last: SQLite then reads the others without them. */
const tables: Migration = ({ kind, text, byKeyAlone }) => [
  `create table agents (
    id ${text} primary key,
    owner ${text} not null,
    created_at bigint not null,
    expires_at bigint not null,
    body ${text} not null
  )`,
  'create index agents_expiry on agents (expires_at)',
  'create index agents_list on agents (owner, created_at, id)',
  `create table agent_sessions (
    id ${text} primary key,
    owner ${text} not null,
    agent_id ${text} not null,
    workspace ${text} not null,
    phase ${text} not null,
    rev integer not null,
    next_event integer not null,
    next_item integer not null,
    queued_at bigint,
    deadline_at bigint,
    lease_by ${text},
    lease_beat bigint,
    created_at bigint not null,
    last_active_at bigint not null,
    expires_at bigint not null,
    metadata ${text} not null,
    settings ${text} not null,
    state ${text} not null
  )`,
  'create index agent_sessions_expiry on agent_sessions (expires_at)',
  'create index agent_sessions_list on agent_sessions (owner, created_at, id)',
  'create index agent_sessions_agent on agent_sessions (owner, agent_id, created_at, id)',
  'create index agent_sessions_queue on agent_sessions (workspace, queued_at, id) where queued_at is not null',
  'create index agent_sessions_running on agent_sessions (workspace) where lease_by is not null',
  'create index agent_sessions_lease on agent_sessions (id) where lease_by is not null',
  'create index agent_sessions_deadline on agent_sessions (deadline_at) where deadline_at is not null',
  `create table agent_session_metadata (
    owner ${text} not null,
    pair ${text} not null,
    session_id ${text} not null references agent_sessions (id) on delete cascade,
    primary key (owner, pair, session_id)
  ) ${byKeyAlone}`,
  'create index agent_session_metadata_session on agent_session_metadata (session_id)',
  `create table agent_turns (
    session_id ${text} not null references agent_sessions (id) on delete cascade,
    pos integer not null,
    id ${text} not null,
    owner ${text} not null,
    body ${text} not null,
    primary key (session_id, pos)
  )`,
  'create index agent_turns_id on agent_turns (session_id, id)',
  `create table agent_items (
    session_id ${text} not null references agent_sessions (id) on delete cascade,
    pos integer not null,
    id ${text} not null,
    turn_id ${text} not null,
    owner ${text} not null,
    chars integer not null,
    is_shown integer not null,
    body ${text},
    raw ${text},
    primary key (session_id, pos)
  )`,
  'create index agent_items_id on agent_items (session_id, id)',
  'create index agent_items_turn on agent_items (session_id, turn_id, pos)',
  `create table agent_events (
    session_id ${text} not null references agent_sessions (id) on delete cascade,
    first integer not null,
    last integer not null,
    owner ${text} not null,
    chars integer not null,
    expires_at bigint not null,
    body ${text} not null,
    primary key (session_id, first)
  )`,
  'create index agent_events_expiry on agent_events (expires_at)',
  `create table agent_input_keys (
    session_id ${text} not null references agent_sessions (id) on delete cascade,
    key ${text} not null,
    expires_at bigint not null,
    body ${text} not null,
    primary key (session_id, key)
  ) ${byKeyAlone}`,
  'create index agent_input_keys_expiry on agent_input_keys (expires_at)',
  `create table agent_places (workspace ${text} primary key, changes bigint not null) ${byKeyAlone}`,
  `create table agent_approvals (
    owner ${text} not null,
    id ${text} not null,
    expires_at bigint not null,
    primary key (owner, id)
  ) ${byKeyAlone}`,
  'create index agent_approvals_expiry on agent_approvals (expires_at)',
  ...countKept(kind, 'agents', ['body']),
  ...countKept(kind, 'agent_sessions', ['metadata', 'settings', 'state']),
  ...countKept(kind, 'agent_turns', ['body']),
  ...countKept(kind, 'agent_items', ['body', 'raw']),
  ...countKept(kind, 'agent_events', ['body']),
];

export const AGENT_MIGRATIONS: Readonly<Record<number, Migration>> = { 8: tables };
