import type { Offers, OpenFeature } from '../../compose/feature.ts';
import { ignoredHeader } from '../../http/answer/turn-headers.ts';
import { jsonResponse } from '../../http/answer/json-response.ts';
import type { Route } from '../../http/route.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { unreadQuery } from '../../openai/shared/list-page.ts';
import type { TABLES } from './feature.ts';
import {
  projectUsagePage,
  readReportQuery,
  readUsageQuery,
  REPORT_PARAMETERS,
  USAGE_PARAMETERS,
  type CompletionsUsage,
  type UsageQuery,
} from './queries.ts';
import type { UsageCounts, UsageGroup, UsageSum } from './store.ts';
import { DAY_MS, HOUR_MS } from './usage-counts.ts';
import {
  wholeHours,
  type MeasuredUsage,
  type UsageReader,
  type UsageReport,
  type UsageTotals,
} from './usage-reader.ts';

export interface UsageRouteDeps extends Pick<Offers, 'limitsOf'> {
  readonly usage: UsageReader;
}

const WIDTHS = { '1h': HOUR_MS, '1d': DAY_MS };
/** The labels that requests have here. */
const GROUPS = { api_key_id: 'keyId', model: 'model' } as const;

/** What keys have used: their own usage, and that of all keys in OpenAI's form and in this server's. */
export const usageRoutes = (deps: UsageRouteDeps): NonNullable<OpenFeature<typeof TABLES>['routes']> => ({
  'GET /v1/usage': reportRoute(deps, 'own'),
  'GET /v1/organization/usage/completions': (http, exchange) =>
    organizationUsage(new URL(http.url).searchParams, deps, exchange.signal),
  'GET /v1/codex/usage/summary': reportRoute(deps, 'all'),
});

const reportRoute =
  ({ usage, limitsOf }: UsageRouteDeps, of: 'all' | 'own'): Route['handle'] =>
  async (http, exchange) => {
    const query = new URL(http.url).searchParams;
    const { startTime, endTime, width } = readReportQuery(query, Math.floor(usage.now() / 1000));
    const range = { ...wholeHours(startTime * 1000, endTime * 1000), width: WIDTHS[width] };
    const keyId = of === 'own' ? exchange.caller() : null;
    const report = await usage.report(range, keyId === null ? null : [keyId]);
    const limits = keyId === null ? null : await limitsOf(keyId);
    const body = projectReport(report, { limits, keyId, width, recordedSince: usage.recordedSince });
    return jsonResponse(body, ignoredHeader(unreadQuery(query, REPORT_PARAMETERS)), exchange.signal);
  };

const organizationUsage = async (
  query: URLSearchParams,
  { usage }: UsageRouteDeps,
  signal: AbortSignal,
): Promise<Response> => {
  const asked = readUsageQuery(query);
  const end = asked.endTime === null ? usage.now() : asked.endTime * 1000;
  const { from, to } = wholeHours(asked.startTime * 1000, end);
  const totals = await usage.page({
    from: asked.page === null ? from : asked.page * 1000,
    to,
    width: WIDTHS[asked.width],
    limit: asked.limit,
    keyIds: asked.apiKeyIds,
    models: asked.models,
    by: groupsOf(asked),
  });
  const last = totals.at(-1)?.end ?? to;
  const buckets = totals.map((total) => bucketOf(total, asked));
  const body = projectUsagePage(buckets, asked.groupBy, last < to ? last / 1000 : null);
  return jsonResponse(body, ignoredHeader(unreadQuery(query, USAGE_PARAMETERS)), signal);
};

const groupsOf = ({ groupBy }: UsageQuery): readonly UsageGroup[] =>
  Object.entries(GROUPS).flatMap(([name, group]) =>
    groupBy.has(name as keyof typeof GROUPS) ? [group] : [],
  );

/** This server has no batch jobs. */
const bucketOf = ({ start, end, sums }: UsageTotals, { batch }: UsageQuery) => ({
  startTime: start / 1000,
  endTime: end / 1000,
  results: batch === true ? [] : sums.map(toResult).filter(({ modelRequests }) => modelRequests > 0),
});

/** Requests that were rejected before a model was asked are not requests to the model. */
const toResult = (sum: UsageSum): CompletionsUsage => ({
  ...sum,
  modelRequests: sum.requests - sum.clientErrors - sum.limitErrors,
});

/** Usage as this server shows it. */
const projectReport = (
  report: UsageReport,
  about: {
    readonly keyId: string | null;
    /** Null: not of one key. */
    readonly limits: readonly JsonObject[] | null;
    readonly width: string;
    readonly recordedSince: number | null;
  },
): JsonObject => ({
  object: 'usage',
  api_key_id: about.keyId,
  recorded_since: about.recordedSince === null ? null : seconds(about.recordedSince),
  ...(about.limits === null ? {} : { limits: about.limits }),
  bucket_width: about.width,
  start_time: seconds(report.start),
  end_time: seconds(report.end),
  total: projectMeasured(report.total),
  windows: report.windows.map(({ name, start, end, counts }) => ({
    window: name,
    start_time: seconds(start),
    end_time: seconds(end),
    ...projectCounts(counts),
  })),
  by_model: report.byModel.map(projectModel),
  by_client: report.byClient.map((sum) => ({ client: label(sum.client), ...projectCounts(sum) })),
  ...(about.keyId === null
    ? { by_key: report.byKey.map((sum) => ({ api_key_id: sum.keyId, ...projectCounts(sum) })) }
    : {}),
  data: report.buckets.map((bucket) => ({
    object: 'bucket',
    start_time: seconds(bucket.start),
    end_time: seconds(bucket.end),
    ...projectMeasured(bucket),
    by_model: bucket.models.map(projectModel),
  })),
});

const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

/** Empty: the request failed before it was known. */
const label = (text: string | null): string | null => (text === '' ? null : text);

const projectModel = (sum: UsageSum): JsonObject => ({ model: label(sum.model), ...projectCounts(sum) });

const projectCounts = (counts: UsageCounts): JsonObject => ({
  requests: counts.requests,
  errors: {
    client: counts.clientErrors,
    limit: counts.limitErrors,
    upstream: counts.upstreamErrors,
    server: counts.serverErrors,
  },
  cancelled: counts.cancelled,
  input_tokens: counts.inputTokens,
  input_cached_tokens: counts.cachedTokens,
  input_cache_write_tokens: counts.cacheWriteTokens,
  output_tokens: counts.outputTokens,
  output_reasoning_tokens: counts.reasoningTokens,
  image_input_tokens: counts.imageInputTokens,
  image_output_tokens: counts.imageOutputTokens,
});

const answered = ({ requests, cancelled, ...errors }: UsageCounts): number =>
  requests -
  cancelled -
  errors.clientErrors -
  errors.limitErrors -
  errors.upstreamErrors -
  errors.serverErrors;

const projectMeasured = ({ counts, firstEventMs, durationMs }: MeasuredUsage): JsonObject => ({
  ...projectCounts(counts),
  latency: {
    first_event_ms: { ...firstEventMs },
    duration_ms: {
      mean: answered(counts) === 0 ? null : Math.round(counts.durationMs / answered(counts)),
      ...durationMs,
    },
  },
});
