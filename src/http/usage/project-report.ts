import type { LimitStatus } from '../../keys/key-limits.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { UsageCounts, UsageSum } from '../../store/ports/usage.ts';
import type { MeasuredUsage, UsageReport } from '../../usage/usage-reader.ts';

/** Usage as this server shows it. */
export const projectReport = (
  report: UsageReport,
  about: {
    readonly keyId: string | null;
    /** Null: not of one key. */
    readonly limits: readonly LimitStatus[] | null;
    readonly width: string;
    readonly recordedSince: number | null;
  },
): JsonObject => ({
  object: 'usage',
  api_key_id: about.keyId,
  recorded_since: about.recordedSince === null ? null : seconds(about.recordedSince),
  ...(about.limits === null ? {} : { limits: about.limits.map((status) => ({ ...status })) }),
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
