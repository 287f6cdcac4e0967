import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { wholeNumber } from '../../config/value.ts';
import { counter } from '../../observe/metric-row.ts';
import { KEY_FAILURES } from './failures.ts';
import { limitStore } from './limit-store.ts';
import { keyStore } from './store.ts';

export const KEY_TABLES = {
  settings: {
    PROXY_KEY_STORAGE_MB: deployment({
      at: 'state.keyStorageMb',
      after: 'PROXY_STORE_TTL_DAYS',
      type: wholeNumber(0, 1_000_000_000, 'MB'),
      default: '5000',
      description:
        'How much is kept for each API key: stored responses, conversations, chat completions, and the events of streams. More gets 429; see [storage](keys.md#storage). 0: no limit.',
    }),
  },
  failures: KEY_FAILURES,
  metrics: {
    keyRefusals: {
      ...counter(
        'proxy_key_refusals_total',
        'Requests refused because of what their API key may do or has used, by error code.',
        ['code'],
      ),
      after: 'storeErrors',
    },
    limitsUnsettled: counter(
      'proxy_limits_unsettled_total',
      'Requests whose usage could not be counted for the limits of their key, because the store was unavailable: what they had reserved counts.',
    ),
  },
  routes: {
    'GET /v1/codex/keys': {
      after: 'POST /v1/codex/feedback',
      access: 'key',
      scopes: ['read'],
      about:
        'The named keys, the newest first, without their secrets. `limit`, `after`. For this and the next ones see [keys](keys.md#over-http).',
    },
    'POST /v1/codex/keys': {
      access: 'key',
      scopes: ['admin'],
      about:
        'Creates a key: `name`, and optionally `note`, `scopes`, `models`, `workspaces`, `effort`, `addresses`, `concurrency`, `limits`, `expires_at`. Only this answer has its secret, as `key`.',
    },
    'GET /v1/codex/keys/:id': { access: 'key', scopes: ['read'], about: 'One of them.' },
    'GET /v1/codex/keys/:id/limits': {
      access: 'key',
      scopes: ['read'],
      about: 'The limits of a key, what it has used of them, and when they reset.',
    },
    'POST /v1/codex/keys/:id': {
      access: 'key',
      scopes: ['admin'],
      about: 'Changes the given fields of a key.',
    },
    'DELETE /v1/codex/keys/:id': {
      access: 'key',
      scopes: ['admin'],
      about: 'Revokes a key, which is final, and answers with it.',
    },
    'POST /v1/codex/keys/:id/rotate': {
      access: 'key',
      scopes: ['admin'],
      about:
        'Makes a new secret, which only this answer has, as `key`. Earlier ones work for `overlap_seconds` (a day).',
    },
    'POST /v1/codex/keys/:id/pause': {
      access: 'key',
      scopes: ['admin'],
      about: 'Makes a key unusable until it is resumed.',
    },
    'POST /v1/codex/keys/:id/resume': {
      access: 'key',
      scopes: ['admin'],
      about: 'Makes a paused key usable again.',
    },
    'POST /v1/codex/keys/:id/reset': {
      access: 'key',
      scopes: ['admin'],
      about: 'Starts all limits of a key anew: what it has used so far does not count any more.',
    },
    'GET /v1/codex/key-proof': {
      access: 'open',
      about:
        'Proves to a program on the machine of the server that this server knows its key: `nonce` is 32 random bytes in base64url. [connect](clients/README.md#the-key-of-a-client) asks before it sends a key.',
    },
  },
} as const satisfies FeatureTables;

/** Named API keys: who sends a request, what that key may do, and how much it may use. */
export const namedKeys = feature('keys', KEY_TABLES, {
  store: [keyStore, limitStore],
  open: async (...args) => (await import('./open.ts')).openKeys(...args),
});
