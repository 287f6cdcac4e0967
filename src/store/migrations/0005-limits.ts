import type { Migration } from './migration.ts';

/** Numbers about keys, no contents: nothing here is encrypted. */
export const limits: Migration = ({ text, byKeyAlone }) => [
  `create table limit_counters (
    key_id ${text} not null,
    name ${text} not null,
    window_id ${text} not null,
    used bigint not null,
    began_at bigint not null,
    resets_at bigint not null,
    primary key (key_id, name)
  ) ${byKeyAlone}`,
  'create index limit_counters_reset on limit_counters (resets_at)',
  `create table limit_reservations (
    id ${text} primary key,
    key_id ${text} not null,
    expires_at bigint not null,
    amounts ${text} not null
  )`,
  'create index limit_reservations_expiry on limit_reservations (expires_at)',
];
