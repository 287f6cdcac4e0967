import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';
import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { decimalNumber, wholeNumber } from '../../config/value.ts';
import { counter } from '../../observe/metric-row.ts';
import { requestStore } from './store.ts';

const failures = {
  unknown_request: row(
    404,
    'This request is not in the log.',
    'the request log has no such request: it is too old, was not logged, or the log is off (`PROXY_REQUEST_LOG_ROWS=0`)',
    { after: 'unknown_item' },
  ),
  request_not_replayable: row(
    409,
    'This request cannot be sent again.',
    'replaying a request that was not captured, whose capture is incomplete, or that would change a conversation',
  ),
} as const satisfies FeatureFailures;

export const requestLogError = featureErrors(failures);

export const REQUEST_LOG_TABLES = {
  settings: {
    PROXY_REQUEST_LOG_ROWS: deployment({
      at: 'state.requestLogRows',
      after: 'PROXY_SIGNATURE_KEY',
      type: wholeNumber(0, 100_000, 'requests'),
      default: '10000',
      description:
        'How many requests the [request log](requests.md) keeps. 0: only running requests are shown.',
    }),
    PROXY_REQUEST_LOG_DAYS: deployment({
      at: 'state.requestLogDays',
      type: decimalNumber(0.001, 3_650, 'days'),
      default: '7',
      description: 'How long the request log keeps a request. Fractions are allowed.',
    }),
  },
  failures,
  metrics: {
    requestLogLost: {
      ...counter(
        'proxy_request_log_lost_total',
        'Requests that are missing in the request log, by reason: `full` (too many waited for the store), `store` (it rejected them), `stop` (it failed until the server had stopped), `key` (too many requests of one key failed within a minute before the model was asked), `no_key` (the same without a valid key).',
        ['reason'],
      ),
      after: 'limitsUnsettled',
    },
  },
  routes: {
    'GET /v1/codex/requests': {
      after: 'GET /v1/codex/usage/summary',
      access: 'key',
      scopes: ['read'],
      about:
        'The requests that have ended, the newest first; see [requests](requests.md). `limit`, `after`, and filters.',
    },
    'GET /v1/codex/requests/live': {
      access: 'key',
      scopes: ['read'],
      about:
        'A stream of what runs on this server: `snapshot`, `request.started`, `request.changed`, `request.ended`, `dropped`.',
    },
    'GET /v1/codex/requests/:id': {
      access: 'key',
      scopes: ['read'],
      about:
        'One of them, by its id, its `x-request-id` or the id of its response: with its parts and their times and, where captured, the bodies.',
    },
    'POST /v1/codex/requests/:id/replay': {
      access: 'key',
      scopes: ['admin'],
      about: 'Sends a captured request again, as a new one of your key that stores nothing.',
    },
  },
} as const satisfies FeatureTables;

/** The log of requests: what runs, what has ended, and who reads it live. */
export const requestLog = feature('request log', REQUEST_LOG_TABLES, {
  store: requestStore,
  open: async (...args) => (await import('./open.ts')).openRequestLog(...args),
});
