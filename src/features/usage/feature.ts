import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { decimalNumber } from '../../config/value.ts';
import { counter } from '../../observe/metric-row.ts';
import { usageStore } from './store.ts';

export const TABLES = {
  settings: {
    PROXY_USAGE_DAYS: deployment({
      at: 'state.usageDays',
      after: 'PROXY_KEY_STORAGE_MB',
      type: decimalNumber(0.05, 36_500, 'days'),
      default: '400',
      description:
        'How long the [usage](usage.md) of keys is kept. With `PROXY_STORE=off` it is kept in memory, since the start of the server.',
    }),
  },
  metrics: {
    usageLost: {
      ...counter(
        'proxy_usage_lost_total',
        'Requests whose usage was not recorded, by reason: `memory` (too much waits for the database), `stop` (the database was away when the server stopped).',
        ['reason'],
      ),
      after: 'storeErrors',
    },
  },
  routes: {
    'GET /v1/usage': {
      after: 'DELETE /v1/codex/conversations/:id',
      access: 'key',
      scopes: ['infer', 'read'],
      about:
        'The usage of the key that asks, by hours or days. `start_time`, `end_time` (Unix seconds), `bucket_width` (`1h`, `1d`). For this and the next ones see [usage](usage.md).',
    },
    'GET /v1/organization/usage/completions': {
      access: 'key',
      scopes: ['read'],
      about:
        "The usage of all keys, in OpenAI's form: `start_time` (required), `end_time`, `bucket_width` (`1h`, `1d`), `group_by`, `api_key_ids`, `models`, `batch`, `limit`, `page`.",
    },
    'GET /v1/codex/usage/summary': {
      access: 'key',
      scopes: ['read'],
      about:
        'The usage of all keys in the form of `/v1/usage`: requests, tokens, errors and latency, by bucket, model, client and key.',
    },
  },
} as const satisfies FeatureTables;

/** What keys use: recorded by the hour, and reported in OpenAI's form and in this server's. */
export const usage = feature('usage', TABLES, {
  store: usageStore,
  open: async (...args) => (await import('./open.ts')).openUsage(...args),
});
