import { deployment, tuning } from './setting-row.ts';
import { databaseUrl, decimalNumber, MAX_TIMER_MS, oneOf, storeKeyList, wholeNumber } from './value.ts';

/** What is kept between requests: stored responses, conversations and event logs. */
export const STATE_SETTINGS = {
  PROXY_STORE: deployment({
    at: 'state.store',
    type: oneOf(['on', 'off']),
    default: 'on',
    description:
      'Whether responses, conversations and chat completions are stored (`on`). With `off` nothing is kept after a request: no database is opened, and requests that need one are rejected.',
  }),
  PROXY_DATABASE_URL: deployment({
    at: 'state.databaseUrl',
    type: databaseUrl,
    defaultInDocs: 'SQLite, in `PROXY_STATE_DIR/state.db`',
    secret: true,
    description:
      'The URL of a PostgreSQL database that stores everything in place of the SQLite file, such as `postgres://user:password@host:5432/name`. Several servers can share one.',
  }),
  PROXY_STORE_TTL_DAYS: deployment({
    at: 'state.ttlDays',
    type: decimalNumber(0.001, 36_500, 'days'),
    default: '30',
    description:
      'How long stored responses and chat completions are kept, counted from their creation, and conversations, counted from their last use. Fractions are allowed.',
  }),
  PROXY_STORE_KEY: deployment({
    at: 'state.keys',
    type: storeKeyList,
    default: '',
    secret: true,
    description:
      'Keys that encrypt what is stored (AES-256-GCM). The first one encrypts, all of them decrypt: to rotate, put a new key in front. `openssl rand -hex 32` makes one. Without a key, content is stored as plain text.',
  }),
  PROXY_SIGNATURE_KEY: deployment({
    at: 'state.signatureKeys',
    type: storeKeyList,
    default: '',
    defaultInDocs: 'one that is created once and kept in the store, or in `PROXY_STATE_DIR/signature-key`',
    secret: true,
    description:
      "Keys that sign the reasoning in answers of Anthropic's API, which clients send back, and make the ids of configured keys. The first one signs and makes ids, signatures and ids of all of them are accepted. Needed only for several servers with `PROXY_STORE=off`, which must have the same key. `openssl rand -hex 32` makes one.",
  }),
  PROXY_STORE_TIMEOUT_MS: tuning({
    at: 'state.timeoutMs',
    type: wholeNumber(100, MAX_TIMER_MS, 'ms'),
    default: '5000',
    description:
      'How long an operation of the database may take, including its wait for earlier ones, before the request fails with `store_unavailable`.',
  }),
  PROXY_STORE_SYNC: tuning({
    at: 'state.sync',
    type: oneOf(['full', 'normal']),
    default: 'full',
    description:
      'Whether the end of an answer that is stored in SQLite waits until the disk has it. See [after a power failure](database.md#after-a-power-failure).',
  }),
  PROXY_BACKGROUND_QUEUE_TIMEOUT_MS: tuning({
    at: 'load.backgroundQueueTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS, 'ms'),
    default: '3600000',
    description:
      'How long a background response waits for a free place before it fails. Other requests come first, and a quarter of the places is never used by background responses.',
  }),
};
