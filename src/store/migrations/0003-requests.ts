import type { Migration } from './migration.ts';

/** The log of requests. Large columns come last. */
export const requests: Migration = ({ text }) => [
  `create table requests (
    id ${text} primary key,
    request_id ${text} not null,
    response_id ${text},
    instance ${text} not null,
    key_id ${text},
    client ${text},
    model ${text},
    status integer not null,
    error_code ${text},
    expires_at bigint not null,
    body ${text} not null,
    spans ${text} not null
  )`,
  'create index requests_request on requests (request_id)',
  'create index requests_response on requests (response_id) where response_id is not null',
  'create index requests_key on requests (key_id, id)',
  'create index requests_failed on requests (id) where error_code is not null',
  'create index requests_expiry on requests (expires_at)',
];
