import { counter, gauge, histogram } from './metric-row.ts';

/** Metrics of what is kept between requests. */
export const STORE_METRICS = {
  itemBytesRemembered: gauge(
    'proxy_item_memory_bytes',
    'Bytes of recent conversations and items, kept in memory for requests that continue them or refer to them.',
  ),
  storeSeconds: {
    ...histogram(
      'proxy_store_operation_seconds',
      'Time of an operation of the store, with its wait for earlier ones, by operation.',
      ['operation'],
    ),
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  },
  storeErrors: counter(
    'proxy_store_errors_total',
    'Operations of the store that failed, by operation and error code.',
    ['operation', 'code'],
  ),
  requestLogLost: counter(
    'proxy_request_log_lost_total',
    'Requests that are missing in the request log, by reason: `full` (too many waited for the store), `store` (it rejected them), `key` (too many requests of one key failed within a minute before the model was asked), `no_key` (the same without a valid key).',
    ['reason'],
  ),
  storeSwept: counter('proxy_store_swept_total', 'Expired rows that were deleted from the store.'),
};
