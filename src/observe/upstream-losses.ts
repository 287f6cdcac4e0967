import { boundedLabel } from './metric-row.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

type LossMetrics = Pick<Metrics, 'parseFailures' | 'responseItemParseErrors' | 'upstreamAnomalies'>;

/** The parts of a backend's answers that the relay could not read. */
interface RelayLosses {
  /** An event could not be read, the nth one of its answer. */
  onUnreadable(why: keyof typeof UNREADABLE, nth: number): void;
  /** A stream ended without `response.completed`; `message` is what the client gets. */
  onUnfinished(message: string): void;
  /** A malformed event was repaired. */
  onRepaired(what: 'no_call_id' | 'arguments' | 'usage'): void;
}

/** Counts and logs losses. A repair is logged once: the backend will need it for every answer. */
export const reportRelayLosses = (metrics: LossMetrics, logger: Logger): RelayLosses => {
  const logged = new Set<string>();
  return {
    onUnreadable(why, nth) {
      metrics.parseFailures.inc({ of: UNREADABLE[why] });
      if (nth === 1) logger.warn({ why }, 'an upstream event could not be read');
    },
    onUnfinished(message) {
      metrics.parseFailures.inc({ of: 'upstream_answer' });
      logger.warn({ cause: message }, UNFINISHED);
    },
    onRepaired(what) {
      if (what === 'usage') metrics.parseFailures.inc({ of: 'upstream_usage' });
      else metrics.responseItemParseErrors.inc({ response_item_parse_error: what });
      if (logged.has(what)) return;
      logged.add(what);
      logger.warn({ what }, 'the upstream deviates from the Responses API; its events are repaired');
    },
  };
};

/** Counts the tools that codex adds for itself, and logs each name once: its features have changed. */
export const reportForeignTools = (
  metrics: Metrics,
  logger: Logger,
): ((names: readonly string[]) => void) => {
  const label = boundedLabel();
  const logged = new Set<string>();
  return (names) => {
    const tools = names.map(label);
    for (const tool of tools) metrics.foreignTools.inc({ tool });
    const news = tools.filter((tool) => !logged.has(tool));
    if (news.length === 0) return;
    for (const tool of news) logged.add(tool);
    logger.warn(
      { tools: news },
      'codex offers tools of its own to the model; they are removed from every request',
    );
  };
};

/** Metric labels of unreadable events. */
const UNREADABLE = {
  'no-json': 'upstream_event',
  'too-long': 'upstream_event_too_long',
  'too-deep': 'upstream_event_too_deep',
  'too-wide': 'upstream_event_too_wide',
} as const;

const UNFINISHED = 'an upstream answer is incomplete';

interface LossRow {
  readonly count: (metrics: LossMetrics) => void;
  readonly facts: object;
  readonly message: string;
}

const droppedItem = (error: string): LossRow => ({
  count: (metrics) => metrics.responseItemParseErrors.inc({ response_item_parse_error: error }),
  facts: { response_item_parse_error: error },
  message: 'an upstream output item was dropped',
});

/** Anomalies that lose a part of the answer. */
const LOSSES: Readonly<Record<string, LossRow>> = {
  'item-without-type': droppedItem('no_type'),
  'item-without-name': droppedItem('no_name'),
  'answer-unfinished': {
    count: (metrics) => metrics.parseFailures.inc({ of: 'upstream_answer' }),
    facts: {},
    message: UNFINISHED,
  },
  'usage-unread': {
    count: (metrics) => metrics.parseFailures.inc({ of: 'upstream_usage' }),
    facts: {},
    message: 'the app-server could not read the usage of an answer, so it is absent',
  },
};

/** Counts the items that codex dropped, and logs the first: the backend will write the next ones alike. */
export const reportUnreadItems = (metrics: LossMetrics, logger: Logger): (() => void) => {
  let isLogged = false;
  const { count, facts } = droppedItem('unread');
  return () => {
    count(metrics);
    if (!isLogged) {
      logger.warn(
        facts,
        'codex could not read an upstream output item and dropped it; PROXY_WIRE=on repairs calls',
      );
    }
    isLogged = true;
  };
};

/** Counts the anomalies of a turn. Losses are logged too, each kind once per turn. */
export const reportAnomalies =
  (metrics: LossMetrics, logger: Logger) =>
  (anomaly: string, { model, nth }: { readonly model: string; readonly nth: number }): void => {
    const loss = LOSSES[anomaly];
    if (loss === undefined) {
      metrics.upstreamAnomalies.inc({ oddity: anomaly });
      return;
    }
    loss.count(metrics);
    if (nth === 1) logger.warn({ model, ...loss.facts }, loss.message);
  };
