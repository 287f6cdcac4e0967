import { counter, histogram } from './metric-row.ts';

/** Metrics about the traffic on both sides, and the part of it that is not understood. */
export const COMPATIBILITY_METRICS = {
  rpcSeconds: {
    ...histogram(
      'proxy_rpc_seconds',
      'Duration of JSON-RPC calls to the app-server, by method; includes failed calls.',
      ['rpc_method'],
    ),
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
  },
  rpcErrors: counter(
    'proxy_rpc_errors_total',
    'Failed JSON-RPC calls to the app-server, by method and error code; `timeout`: no answer in time, `closed`: the app-server exited.',
    ['rpc_method', 'rpc_error_code'],
  ),
  responseEvents: counter(
    'proxy_response_events_total',
    'Stream events sent to clients, by type: the event type of Responses, Images or reviews, `chat.completion.chunk`, `text_completion`, `error`, `[DONE]`; `other`: a type from the backend.',
    ['response_event_type'],
  ),
  unknownItems: counter(
    'proxy_unknown_items_total',
    'Output items of an unknown type, which are passed to the client unchanged. After 50 types the rest is `other`.',
    ['type'],
  ),
  responseItemParseErrors: counter(
    'proxy_response_item_parse_errors_total',
    'Upstream output items that violate the Responses API, by error: `no_type` and `no_name` (the item is dropped), `no_call_id` and `arguments` (not text; the item is repaired); without the relay `unread` (codex dropped the item, such as a call without a call id, and does not say which).',
    ['response_item_parse_error'],
  ),
  parseFailures: counter(
    'proxy_parse_failures_total',
    'Data that could not be parsed: `request_body` (of a client), `upstream_event` (not a JSON object, or without a type), `upstream_event_too_long`, `upstream_event_too_deep`, `upstream_event_too_wide`, `upstream_answer` (a stream without `response.completed`), `upstream_usage` (violates the Responses API; it is repaired). Lines of the app-server have their own counter.',
    ['of'],
  ),
  ignoredParams: counter(
    'proxy_ignored_params_total',
    'Request parameters that had no effect, by name; `other`: a parameter that this server does not know.',
    ['param'],
  ),
} as const;
