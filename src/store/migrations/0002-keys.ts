import type { Migration } from './migration.ts';

/** Named API keys. Every change of a key takes the next version from `api_key_state`, which has one row. */
export const keys: Migration = ({ text, byKeyAlone }) => [
  `create table api_keys (
    id ${text} primary key,
    version bigint not null,
    hint ${text} not null,
    created_at bigint not null,
    expires_at bigint,
    paused_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    body ${text} not null
  )`,
  'create index api_keys_version on api_keys (version)',
  'create index api_keys_list on api_keys (created_at, id)',
  'create index api_keys_revoked on api_keys (revoked_at) where revoked_at is not null',
  `create table api_key_secrets (
    key_id ${text} not null references api_keys (id) on delete cascade,
    hash ${text} not null unique,
    created_at bigint not null,
    expires_at bigint,
    primary key (key_id, hash)
  ) ${byKeyAlone}`,
  `create table api_key_state (
    id integer primary key,
    version bigint not null,
    keys integer not null
  )`,
  'insert into api_key_state (id, version, keys) values (1, 0, 0)',
];
