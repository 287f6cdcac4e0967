import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { assertNever } from '../kit/assert-never.ts';
import { COMPATIBILITY_METRICS } from './compatibility-metrics.ts';

export interface MetricRow {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;

/** Every metric there is; docs/metrics.md is printed from this table. */
export const METRICS = {
  requests: {
    kind: 'counter',
    name: 'proxy_requests_total',
    help: 'Answered requests, by route and HTTP status.',
    labels: ['route', 'status'],
  },
  clientRequests: {
    kind: 'counter',
    name: 'proxy_client_requests_total',
    help: 'Requests for turns, by detected client, and by what identified it: header, body, none.',
    labels: ['family', 'tier'],
  },
  outputModes: {
    kind: 'counter',
    name: 'proxy_output_mode_requests_total',
    help: 'Chat and Responses requests, by output mode for tool calls: `openai-json`, `obsidian-xml`.',
    labels: ['mode'],
  },
  xmlNativeOnly: {
    kind: 'counter',
    name: 'proxy_xml_calls_native_only_total',
    help: 'Calls in `obsidian-xml` without a `<use_tool>` block, because it would be read as another call, by reason: kind (not a plain function), too_long, arguments (not a JSON object), name, value.',
    labels: ['reason'],
  },
  requestSeconds: {
    kind: 'histogram',
    name: 'proxy_request_seconds',
    help: 'Time from a request to the end of its answer.',
    labels: [],
    buckets: SECONDS,
  },
  firstEventSeconds: {
    kind: 'histogram',
    name: 'proxy_first_event_seconds',
    help: 'Time from a request to the first event of its turn.',
    labels: [],
    buckets: SECONDS,
  },
  turnsActive: {
    kind: 'gauge',
    name: 'proxy_turns_active',
    help: 'Turns whose answer is not yet completely delivered.',
    labels: [],
  },
  turnsRunning: {
    kind: 'gauge',
    name: 'proxy_turns_running',
    help: 'Turns that hold one of the PROXY_MAX_CONCURRENT_TURNS slots.',
    labels: [],
  },
  turnsQueued: {
    kind: 'gauge',
    name: 'proxy_turns_queued',
    help: 'Turns that wait for a slot.',
    labels: [],
  },
  queueSeconds: {
    kind: 'histogram',
    name: 'proxy_queue_seconds',
    help: 'How long turns waited for a slot; only turns that waited and got one.',
    labels: [],
    buckets: SECONDS,
  },
  refused: {
    kind: 'counter',
    name: 'proxy_refused_total',
    help: 'Requests rejected for lack of capacity, by reason: `share` (the fair share of the key is used up), `full` (the queue is full), `late` (the wait was too long), `bytes` (request bodies).',
    labels: ['reason'],
  },
  bytesInFlight: {
    kind: 'gauge',
    name: 'proxy_bytes_in_flight',
    help: 'Bytes of the bodies of requests in progress.',
    labels: [],
  },
  bytesUnread: {
    kind: 'gauge',
    name: 'proxy_bytes_unread',
    help: 'Bytes of answers that clients have not read yet.',
    labels: [],
  },
  bytesRemembered: {
    kind: 'gauge',
    name: 'proxy_reasoning_memory_bytes',
    help: 'Bytes of reasoning kept for the next rounds of tool conversations.',
    labels: [],
  },
  itemBytesRemembered: {
    kind: 'gauge',
    name: 'proxy_item_memory_bytes',
    help: 'Bytes of items of recent responses, kept for requests that refer to them.',
    labels: [],
  },
  reasoningRecalled: {
    kind: 'counter',
    name: 'proxy_reasoning_recalled_total',
    help: 'Reasoning items that a client did not send back and that this server added again.',
    labels: [],
  },
  tokens: {
    kind: 'counter',
    name: 'proxy_tokens_total',
    help: 'Tokens as the upstream counted them: input, cached_input, output, reasoning.',
    labels: ['kind'],
  },
  formatMismatches: {
    kind: 'counter',
    name: 'proxy_format_mismatch_total',
    help: 'Answers that did not match the requested JSON schema.',
    labels: [],
  },
  toolRepairs: {
    kind: 'counter',
    name: 'proxy_tool_repairs_total',
    help: 'Answers in which a strict function was called with arguments that violate its schema: `repaired` by the model in another attempt, or `passed_on` unchanged.',
    labels: ['result'],
  },
  modelRequestLimits: {
    kind: 'counter',
    name: 'proxy_model_request_limits_total',
    help: 'Answers ended because they reached PROXY_MAX_MODEL_REQUESTS.',
    labels: [],
  },
  sideRequests: {
    kind: 'counter',
    name: 'proxy_side_requests_total',
    help: 'Requests for a conversation title, by `kind` (title, title-and-summary, thread-title) and by the result of the short turn: answered; refused, failed, late, unusable (then the requested turn was run); or abandoned.',
    labels: ['kind', 'result'],
  },
  formatUnchecked: {
    kind: 'counter',
    name: 'proxy_format_unchecked_total',
    help: 'Answers that were not checked against their JSON schema, by reason: late (it took too long), crowded, broken, too_large, unknown.',
    labels: ['reason'],
  },
  toolsUnexplained: {
    kind: 'counter',
    name: 'proxy_tools_unexplained_total',
    help: 'Tools described in prose without parameter docs, by reason: late (their schema took too long), crowded, broken, too_large.',
    labels: ['reason'],
  },
  tokenGuesses: {
    kind: 'counter',
    name: 'proxy_token_guesses_total',
    help: 'How often tokens were estimated, for an output limit or a usage, because counting them took too long.',
    labels: [],
  },
  observerErrors: {
    kind: 'counter',
    name: 'proxy_observer_errors_total',
    help: 'Turns in which an observer threw; the turns themselves continued.',
    labels: [],
  },
  logLinesDropped: {
    kind: 'counter',
    name: 'proxy_log_lines_dropped_total',
    help: 'Dropped log lines: standard output was blocked, full or closed.',
    labels: [],
  },
  upstreamUnknownEvents: {
    kind: 'counter',
    name: 'proxy_upstream_unknown_events_total',
    help: 'Notifications of the app-server that are neither handled nor listed as ignored.',
    labels: ['method'],
  },
  upstreamAnomalies: {
    kind: 'counter',
    name: 'proxy_upstream_oddities_total',
    help: 'Anomalies of a turn that a client does not see: a call of an undeclared tool, a dropped second call, an unfinished call in prose, text that differs from its deltas, an answer that was only partly seen, anything that codex added to a prompt or left out of it.',
    labels: ['oddity'],
  },
  relayBlocked: {
    kind: 'counter',
    name: 'proxy_relay_blocked_total',
    help: 'Block pages (such as a Cloudflare challenge) received instead of an answer.',
    labels: [],
  },
  backendSwitches: {
    kind: 'counter',
    name: 'proxy_backend_switches_total',
    help: 'Switches to another backend: a login was added, changed or removed, or the relay is bypassed.',
    labels: [],
  },
  upstreamMalformedLines: {
    kind: 'counter',
    name: 'proxy_upstream_malformed_lines_total',
    help: 'Lines of the app-server that are not a JSON-RPC message.',
    labels: [],
  },
  upstreamFirstByteSeconds: {
    kind: 'histogram',
    name: 'proxy_upstream_first_byte_seconds',
    help: 'Time from sending a model request to the first byte of its answer, as the relay sees it.',
    labels: [],
    buckets: SECONDS,
  },
  upstreamRetries: {
    kind: 'counter',
    name: 'proxy_upstream_retries_total',
    help: 'Model requests that the relay sent again because there was no answer.',
    labels: [],
  },
  relayUnplaced: {
    kind: 'counter',
    name: 'proxy_relay_unplaced_total',
    help: 'Requests of the app-server that do not belong to a turn and passed the relay unchanged.',
    labels: [],
  },
  workerRestarts: {
    kind: 'counter',
    name: 'proxy_worker_restarts_total',
    help: 'App-servers that were lost: they exited, or were stopped because they no longer worked.',
    labels: [],
  },
  workerReplacements: {
    kind: 'counter',
    name: 'proxy_worker_replacements_total',
    help: 'App-servers that were replaced while they still worked: because of memory, disk, CPU or threads, or for a new login or model list.',
    labels: [],
  },
  workerHealthProblems: {
    kind: 'counter',
    name: 'proxy_worker_ailments_total',
    help: 'App-servers that were killed, by reason: hung, home-gone.',
    labels: ['ailment'],
  },
  ...COMPATIBILITY_METRICS,
} as const satisfies Record<string, MetricRow>;

type Table = typeof METRICS;
type Keys<Kind extends MetricRow['kind']> = {
  [K in keyof Table]: Table[K]['kind'] extends Kind ? K : never;
}[keyof Table];
type LabelOf<K extends keyof Table> = Table[K]['labels'][number];

export type Metrics = {
  readonly [K in Keys<'counter'>]: Counter<LabelOf<K>>;
} & {
  readonly [K in Keys<'gauge'>]: Gauge<LabelOf<K>>;
} & {
  readonly [K in Keys<'histogram'>]: Histogram<LabelOf<K>>;
} & {
  /** The page that Prometheus reads, and its content type. */
  readonly print: () => Promise<string>;
  readonly contentType: string;
};

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
        // An unknown label, or not a number: only this value is lost.
      }
    };
  }
  return metric;
};

/** A registry of its own, so that two apps in one process (as in tests) do not share numbers. */
export const createMetrics = (): Metrics => {
  const registry = new Registry();
  const metrics = Object.fromEntries(
    Object.entries<MetricRow>(METRICS).map(([key, row]) => [key, shielded(createMetric(row, registry))]),
  );
  return {
    ...metrics,
    print: () => registry.metrics(),
    contentType: registry.contentType,
  } as unknown as Metrics;
};

/** The table of docs/metrics.md. */
export const describeMetrics = (): string => {
  const rows = Object.values<MetricRow>(METRICS).map((row) => {
    const labels = row.labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${row.name}\` | ${row.kind} | ${labels === '' ? 'none' : labels} | ${row.help} |`;
  });
  return ['# Metrics', '', '| name | kind | labels | meaning |', '|---|---|---|---|', ...rows, ''].join('\n');
};
