import type { MetricRow } from './metrics.ts';

/** What is said on either side, and what of it nobody here understands. */
export const COMPATIBILITY_METRICS = {
  rpcSeconds: {
    kind: 'histogram',
    name: 'proxy_rpc_seconds',
    help: 'Calls of the app-server and how long their answers took, by method; those that failed among them.',
    labels: ['rpc_method'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
  },
  rpcErrors: {
    kind: 'counter',
    name: 'proxy_rpc_errors_total',
    help: 'Calls of the app-server that failed, by method and by the code of its error; `timeout`: no answer came in time, `closed`: the app-server went away.',
    labels: ['rpc_method', 'rpc_error_code'],
  },
  responseEvents: {
    kind: 'counter',
    name: 'proxy_response_events_total',
    help: 'Events of streams to clients, by type: that of an event of Responses, Images or reviews, `chat.completion.chunk`, `text_completion`, `error`, `[DONE]`; `other`: an event that a backend named.',
    labels: ['response_event_type'],
  },
  unknownItems: {
    kind: 'counter',
    name: 'proxy_unknown_items_total',
    help: 'Output items of a type that nobody here knows, which go to the client as they are. After 50 types the rest is `other`.',
    labels: ['type'],
  },
  responseItemParseErrors: {
    kind: 'counter',
    name: 'proxy_response_item_parse_errors_total',
    help: 'Output items of the upstream that do not have the form of the Responses API, by error: `no_type` and `no_name` (the item is dropped), `no_call_id` and `arguments` (not text; the item is repaired).',
    labels: ['response_item_parse_error'],
  },
  parseFailures: {
    kind: 'counter',
    name: 'proxy_parse_failures_total',
    help: 'What could not be read, by what it was: `request_body` (of a client), `upstream_event` (no JSON object, or one without a type), `upstream_event_too_long`, `upstream_event_too_deep`, `upstream_event_too_wide`, `upstream_answer` (a stream without `response.completed`), `upstream_usage` (not in the form of the Responses API; it is repaired). Lines of the app-server have a counter of their own.',
    labels: ['of'],
  },
  ignoredParams: {
    kind: 'counter',
    name: 'proxy_ignored_params_total',
    help: 'Parameters of requests that had no effect, by name; `other`: one that no table of ours has.',
    labels: ['param'],
  },
  capturesLost: {
    kind: 'counter',
    name: 'proxy_stories_lost_total',
    help: 'Requests whose story (PROXY_CAPTURE_DIR) is not there or breaks off, by reason: `crowded` (too many at once), `slow` (the disk does not keep up), `disk` (it cannot be written).',
    labels: ['reason'],
  },
} as const satisfies Record<string, MetricRow>;
