import type { Migration } from './migration.ts';

export const usage: Migration = ({ text }) => [
  `create table usage (
    id ${text} primary key,
    hour bigint not null,
    key_id ${text} not null,
    model ${text} not null,
    client ${text} not null,
    expires_at bigint not null,
    requests bigint not null,
    client_errors bigint not null,
    limit_errors bigint not null,
    upstream_errors bigint not null,
    server_errors bigint not null,
    cancelled bigint not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    cache_write_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    image_input_tokens bigint not null,
    image_output_tokens bigint not null,
    duration_ms bigint not null,
    first_events ${text} not null,
    durations ${text} not null
  )`,
  'create index usage_hours on usage (hour)',
  'create index usage_keys on usage (key_id, hour)',
  'create index usage_expiry on usage (expires_at)',
];
