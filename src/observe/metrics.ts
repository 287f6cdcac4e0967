import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';

import { assertNever } from '../kit/assert-never.ts';
import { counter, gauge, histogram, type MetricRow, type MetricTable } from './metric-row.ts';
import { TRANSPORT_METRICS } from './transport-metrics.ts';

/** Metrics of what is kept between requests. */
const STORE_METRICS = {
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
  storeSwept: counter('proxy_store_swept_total', 'Expired rows that were deleted from the store.'),
};

/** Metrics about the traffic on both sides, and the part of it that is not understood. */
const COMPATIBILITY_METRICS = {
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
    'Upstream output items that violate the Responses API, by error: `no_type` and `no_name` (the item is dropped), `no_call_id` and `arguments` (not text; the item is repaired); without the relay `unread` (codex dropped the item).',
    ['response_item_parse_error'],
  ),
  parseFailures: counter(
    'proxy_parse_failures_total',
    'Data that could not be parsed: `request_body` (of a client), `upstream_event` (not a JSON object, or without a type), `upstream_event_too_long`, `upstream_event_too_deep`, `upstream_event_too_wide`, `upstream_answer` (a stream without `response.completed`), `upstream_usage` (it is repaired).',
    ['of'],
  ),
  ignoredParams: counter(
    'proxy_ignored_params_total',
    'Request parameters that had no effect, by name; `other`: a parameter that this server does not know.',
    ['param'],
  ),
} as const;

/** The metrics that belong to no feature; docs/metrics.md is generated from this table and those of the features. */
export const METRICS = {
  requests: counter('proxy_requests_total', 'Answered requests, by route and HTTP status.', [
    'route',
    'status',
  ]),
  clientRequests: counter(
    'proxy_client_requests_total',
    'Requests for turns, by detected client, and by what identified it: header, body, none.',
    ['family', 'tier'],
  ),
  turnRequests: counter(
    'proxy_turn_requests_total',
    'Requests for turns, by transport: `http`, `websocket`.',
    ['transport'],
  ),
  outputModes: counter(
    'proxy_output_mode_requests_total',
    'Chat and Responses requests, by output mode for tool calls: `openai-json`, `obsidian-xml`.',
    ['mode'],
  ),
  xmlNativeOnly: counter(
    'proxy_xml_calls_native_only_total',
    'Calls in `obsidian-xml` without a `<use_tool>` block, because it would be read as another call, by reason: kind (not a plain function), too_long, arguments (not a JSON object), name, value.',
    ['reason'],
  ),
  requestSeconds: histogram('proxy_request_seconds', 'Time from a request to the end of its answer.'),
  firstEventSeconds: histogram(
    'proxy_first_event_seconds',
    'Time from a request to the first event of its turn.',
  ),
  turnsActive: gauge('proxy_turns_active', 'Turns whose answer is not yet completely delivered.'),
  turnsRunning: gauge('proxy_turns_running', 'Turns that hold one of the PROXY_MAX_CONCURRENT_TURNS slots.'),
  turnsQueued: gauge('proxy_turns_queued', 'Turns that wait for a slot.'),
  queueSeconds: histogram(
    'proxy_queue_seconds',
    'How long turns waited for a slot; only turns that waited and got one.',
  ),
  refused: counter(
    'proxy_refused_total',
    'Requests rejected for lack of capacity, by reason: `share` (the fair share of the key is used up), `full` (the queue is full), `late` (the wait was too long), `bytes` (request bodies), `background` (background responses).',
    ['reason'],
  ),
  bytesInFlight: gauge('proxy_bytes_in_flight', 'Bytes of the bodies of requests in progress.'),
  bytesUnread: gauge('proxy_bytes_unread', 'Bytes of answers that clients have not read yet.'),
  bytesRemembered: gauge(
    'proxy_reasoning_memory_bytes',
    'Bytes of reasoning kept for the next rounds of tool conversations.',
  ),
  ...STORE_METRICS,
  reasoningRecalled: counter(
    'proxy_reasoning_recalled_total',
    'Reasoning items that a client did not send back and that this server added again.',
  ),
  reasoningDropped: counter(
    'proxy_reasoning_dropped_total',
    'Reasoning items that were left out of a model request, because another account or backend encrypted them.',
  ),
  tokens: counter(
    'proxy_tokens_total',
    'Tokens as the upstream counted them: input, cached_input, output, reasoning.',
    ['kind'],
  ),
  formatMismatches: counter(
    'proxy_format_mismatch_total',
    'Answers that did not match the requested JSON schema.',
  ),
  toolRepairs: counter(
    'proxy_tool_repairs_total',
    'Answers in which a strict function was called with arguments that violate its schema: `repaired` by the model in another attempt, or `passed_on` unchanged.',
    ['result'],
  ),
  modelRequestLimits: counter(
    'proxy_model_request_limits_total',
    'Answers ended because they reached PROXY_MAX_MODEL_REQUESTS.',
  ),
  sideRequests: counter(
    'proxy_side_requests_total',
    'Requests for a conversation title, by `kind` (title, title-and-summary, thread-title) and by the result of the short turn: answered; refused, failed, late, unusable (then the requested turn was run); or abandoned.',
    ['kind', 'result'],
  ),
  formatUnchecked: counter(
    'proxy_format_unchecked_total',
    'Answers that were not checked against their JSON schema, by reason: late (it took too long), crowded, broken, too_large, unknown.',
    ['reason'],
  ),
  toolsUnexplained: counter(
    'proxy_tools_unexplained_total',
    'Tools described in prose without parameter docs, by reason: late (their schema took too long), crowded, broken, too_large.',
    ['reason'],
  ),
  tokenGuesses: counter(
    'proxy_token_guesses_total',
    'How often tokens were estimated, for an output limit or a usage, because counting them took too long.',
  ),
  observerErrors: counter(
    'proxy_observer_errors_total',
    'Turns in which an observer threw; the turns themselves continued.',
  ),
  logLinesDropped: counter(
    'proxy_log_lines_dropped_total',
    'Dropped log lines: standard output was blocked, full or closed.',
  ),
  upstreamUnknownEvents: counter(
    'proxy_upstream_unknown_events_total',
    'Notifications of the app-server that are neither handled nor listed as ignored.',
    ['method'],
  ),
  upstreamAnomalies: counter(
    'proxy_upstream_oddities_total',
    'Anomalies of a turn that a client does not see: a call of an undeclared tool, a dropped second call, an unfinished call in prose, text that differs from its deltas, an answer that was only partly seen, anything that codex added to a prompt or left out of it.',
    ['oddity'],
  ),
  relayBlocked: counter(
    'proxy_relay_blocked_total',
    'Block pages (such as a Cloudflare challenge) received instead of an answer.',
  ),
  backendSwitches: counter(
    'proxy_backend_switches_total',
    'Switches to another backend: a login was added, changed or removed, or the relay is bypassed.',
  ),
  upstreamMalformedLines: counter(
    'proxy_upstream_malformed_lines_total',
    'Lines of the app-server that are not a JSON-RPC message.',
  ),
  ...TRANSPORT_METRICS,
  relayUnplaced: counter(
    'proxy_relay_unplaced_total',
    'Model requests of the app-server that belong to no turn; they are not sent.',
  ),
  foreignTools: counter(
    'proxy_foreign_tools_total',
    'Tools in model requests of the app-server that neither the client nor its MCP servers asked for; they are removed.',
    ['tool'],
  ),
  carrierLosses: counter(
    'proxy_carrier_losses_total',
    'Model requests of the app-server that were not sent because they are not those of their turn, by reason: other-kind, other-turn, no-placeholder, foreign-item.',
    ['reason'],
  ),
  preStartedTurns: counter(
    'proxy_prestarted_turns_total',
    'Turns that waited for a request, because they had been started early or had carried another one, by what became of them: used, expired, failed, dropped.',
    ['fate'],
  ),
  preStartedMisses: counter(
    'proxy_prestart_misses_total',
    'Requests that found no waiting turn, and waited for the app-server.',
  ),
  preStartedWaiting: gauge(
    'proxy_prestarted_turns_waiting',
    'Turns that wait for a request: started early, or after another one that they carried.',
  ),
  idleThreads: gauge(
    'proxy_carrier_threads_idle',
    'Threads that have carried a turn and wait for another one of the same caller.',
  ),
  workerRestarts: counter(
    'proxy_worker_restarts_total',
    'App-servers that were lost: they exited, or were stopped because they no longer worked.',
  ),
  workerReplacements: counter(
    'proxy_worker_replacements_total',
    'App-servers that were replaced while they still worked: because of memory, disk, CPU or threads, or for a new login or model list.',
  ),
  workerHealthProblems: counter(
    'proxy_worker_ailments_total',
    'App-servers that were killed, by reason: hung, home-gone.',
    ['ailment'],
  ),
  ...COMPATIBILITY_METRICS,
} as const;

type MetricOf<Row extends MetricRow> = {
  readonly counter: Counter<Row['labels'][number]>;
  readonly gauge: Gauge<Row['labels'][number]>;
  readonly histogram: Histogram<Row['labels'][number]>;
}[Row['kind']];

/** The metrics of a table: what a feature gets of all metrics. */
export type MetricsOf<Table extends MetricTable> = { readonly [Name in keyof Table]: MetricOf<Table[Name]> };

/** The metrics in Prometheus format, and their content type. */
export interface MetricsPage {
  readonly print: () => Promise<string>;
  readonly contentType: string;
}

export type Metrics = MetricsOf<typeof METRICS> & MetricsPage;

const createMetric = (row: MetricRow, registry: Registry): Counter | Gauge | Histogram => {
  const common = { name: row.name, help: row.help, labelNames: [...row.labels], registers: [registry] };
  switch (row.kind) {
    case 'counter':
      return new Counter(common);
    case 'gauge':
      return new Gauge(common);
    case 'histogram':
      return new Histogram(row.buckets === undefined ? common : { ...common, buckets: [...row.buckets] });
    default:
      return assertNever(row.kind);
  }
};

/** A metric must not fail a request. */
const shielded = <M extends Counter | Gauge | Histogram>(metric: M): M => {
  const methods = metric as unknown as Record<string, unknown>;
  for (const name of ['inc', 'dec', 'set', 'observe']) {
    const method = methods[name];
    if (typeof method !== 'function') continue;
    methods[name] = (...values: readonly unknown[]): void => {
      try {
        method.apply(metric, values);
      } catch {
        // An unknown label, or not a number: drop this value.
      }
    };
  }
  return metric;
};

/** Uses its own registry, so that two apps in one process (as in tests) do not share numbers. */
export const createMetrics = (table: MetricTable = METRICS): Metrics => {
  const registry = new Registry();
  const metrics = Object.fromEntries(
    Object.entries(table).map(([key, row]) => [key, shielded(createMetric(row, registry))]),
  );
  return {
    ...metrics,
    print: () => registry.metrics(),
    contentType: registry.contentType,
  } as unknown as Metrics;
};

/** The table of docs/metrics.md. */
export const describeMetrics = (table: MetricTable): string => {
  const rows = Object.values(table).map((row) => {
    const labels = row.labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${row.name}\` | ${row.kind}${labels === '' ? '' : ` by ${labels}`} | ${row.help} |`;
  });
  return ['# Metrics', '', '| name | kind and labels | meaning |', '|---|---|---|', ...rows, ''].join('\n');
};
