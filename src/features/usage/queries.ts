import { z } from 'zod';

import { idText, listOf, MAX_WORDS } from '../../apis/bounds.ts';
import { parseBody } from '../../apis/validation.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { JsonObject } from '../../kit/json/json.ts';

const BUCKET_WIDTHS = ['1h', '1d'] as const;
export type BucketWidth = (typeof BUCKET_WIDTHS)[number];

const GROUPS = [
  'project_id',
  'user_id',
  'api_key_id',
  'model',
  'batch',
  'service_tier',
  'api_source',
] as const;
type UsageGroupName = (typeof GROUPS)[number];

/** A request for usage in OpenAI's form. Times are Unix seconds. */
export interface UsageQuery {
  readonly startTime: number;
  /** Null: until now. */
  readonly endTime: number | null;
  readonly width: BucketWidth;
  readonly limit: number;
  /** The start of the first bucket; null: the first of the range. */
  readonly page: number | null;
  readonly groupBy: ReadonlySet<UsageGroupName>;
  readonly apiKeyIds: readonly string[] | null;
  readonly models: readonly string[] | null;
  /** Null: both. */
  readonly batch: boolean | null;
}

/** The number of buckets of a page: OpenAI's defaults and maxima. */
const LIMITS: Readonly<Record<BucketWidth, { readonly usual: number; readonly max: number }>> = {
  '1h': { usual: 24, max: 168 },
  '1d': { usual: 7, max: 31 },
};

/** The year 9999. */
const MAX_TIME = 253_402_300_799;

const timeField = z.int().min(0).max(MAX_TIME);
const ids = listOf(idText, MAX_WORDS, 1).optional();

const schema = z.object({
  start_time: timeField,
  end_time: timeField.optional(),
  bucket_width: z.enum(['1m', ...BUCKET_WIDTHS]).default('1d'),
  limit: z.int().min(1).optional(),
  page: z.string().max(64).optional(),
  group_by: listOf(z.enum(GROUPS), MAX_WORDS).default([]),
  project_ids: ids,
  user_ids: ids,
  api_key_ids: ids,
  models: ids,
  batch: z.enum(['true', 'false']).optional(),
});

/** What the query of a usage request may have. */
export const USAGE_PARAMETERS: readonly string[] = Object.keys(schema.shape);

/** Throws a 400 for what is invalid, and for what this server does not have: projects, users and minutes. */
export const readUsageQuery = (query: URLSearchParams): UsageQuery => {
  const read = parseBody(schema, {
    start_time: numberIn(query, 'start_time'),
    end_time: numberIn(query, 'end_time'),
    bucket_width: textIn(query, 'bucket_width'),
    limit: numberIn(query, 'limit'),
    page: textIn(query, 'page'),
    group_by: listIn(query, 'group_by'),
    project_ids: listIn(query, 'project_ids'),
    user_ids: listIn(query, 'user_ids'),
    api_key_ids: listIn(query, 'api_key_ids'),
    models: listIn(query, 'models'),
    batch: textIn(query, 'batch'),
  });
  const { start_time: startTime, end_time: endTime = null } = read;
  for (const name of ['project_ids', 'user_ids'] as const) {
    if (read[name] !== undefined) throw unsupported(name, 'This server has no projects and no users.');
  }
  checkOrder(startTime, endTime);
  const width = hoursOrDays(read.bucket_width);
  const { usual, max } = LIMITS[width];
  return {
    startTime,
    endTime,
    width,
    limit: parseBody(z.int().max(max), read.limit ?? usual, 'limit'),
    page: read.page === undefined ? null : pageIn(read.page, startTime),
    groupBy: new Set(read.group_by),
    apiKeyIds: read.api_key_ids ?? null,
    models: read.models ?? null,
    batch: read.batch === undefined ? null : read.batch === 'true',
  };
};

/** Throws unless the range has a length. */
const checkOrder = (startTime: number, endTime: number | null): void => {
  if (endTime === null || endTime > startTime) return;
  throw gatewayError('invalid_value', {
    param: 'end_time',
    message: `Invalid 'end_time': it must be later than 'start_time' (${startTime}), but got ${endTime}.`,
  });
};

/** Throws for minutes. */
const hoursOrDays = (width: '1m' | BucketWidth): BucketWidth => {
  if (width !== '1m') return width;
  throw unsupported('bucket_width', "This server records usage by the hour. Use '1h' or '1d'.");
};

/** The cursor of the page that begins with this second. */
export const pageCursor = (startTime: number): string => `page_${startTime.toString(36)}`;

const pageIn = (cursor: string, startTime: number): number => {
  const time = Number.parseInt(cursor.slice('page_'.length), 36);
  if (pageCursor(time) === cursor && time % 3600 === 0 && time > startTime && time <= MAX_TIME) return time;
  throw gatewayError('invalid_value', {
    param: 'page',
    message: "Invalid 'page': use the 'next_page' of the answer before, with the same other parameters.",
  });
};

const unsupported = (param: string, why: string) =>
  gatewayError('unsupported_parameter', { param, message: `Unsupported parameter: '${param}'. ${why}` });

/** An empty value counts as absent. */
const textIn = (query: URLSearchParams, name: string): string | undefined => {
  const value = query.get(name);
  return value === null || value === '' ? undefined : value;
};

/** A value that is not a number stays a text, which the schema rejects. */
const numberIn = (query: URLSearchParams, name: string): number | string | undefined => {
  const text = textIn(query, name);
  return text === undefined || !/^[+-]?\d{1,15}$/.test(text) ? text : Number(text);
};

/** `name[]=a&name[]=b`, as OpenAI's SDKs write it, or `name=a&name=b`. */
const listIn = (query: URLSearchParams, name: string): readonly string[] | undefined => {
  const values = [...query].flatMap(([key, value]) => (key.replace(/\[\d*\]$/, '') === name ? [value] : []));
  return values.length === 0 ? undefined : values;
};

/** A request for usage in this server's own form. Times are Unix seconds. */
export interface ReportQuery {
  readonly startTime: number;
  readonly endTime: number;
  readonly width: BucketWidth;
}

const SECONDS: Readonly<Record<BucketWidth, number>> = { '1h': 3_600, '1d': 86_400 };
/** The number of buckets. */
const USUAL: Readonly<Record<BucketWidth, number>> = { '1h': 24, '1d': 7 };
const MAX_BUCKETS: Readonly<Record<BucketWidth, number>> = { '1h': 168, '1d': 366 };

const reportSchema = z.object({
  start_time: timeField.optional(),
  end_time: timeField.optional(),
  bucket_width: z.enum(['1m', ...BUCKET_WIDTHS]).default('1d'),
});

export const REPORT_PARAMETERS: readonly string[] = Object.keys(reportSchema.shape);

/** Throws a 400 for what is invalid, and for a range with too many buckets. */
export const readReportQuery = (query: URLSearchParams, nowSeconds: number): ReportQuery => {
  const read = parseBody(reportSchema, {
    start_time: numberIn(query, 'start_time'),
    end_time: numberIn(query, 'end_time'),
    bucket_width: textIn(query, 'bucket_width'),
  });
  const width = hoursOrDays(read.bucket_width);
  const endTime = read.end_time ?? nowSeconds + 1;
  const usualStart = Math.max(0, endTime - USUAL[width] * SECONDS[width]);
  const startTime = read.start_time ?? usualStart;
  checkOrder(startTime, endTime);
  parseBody(z.int().min(endTime - MAX_BUCKETS[width] * SECONDS[width]), startTime, 'start_time');
  return { startTime, endTime, width };
};

/** The usage of a group. A label is null unless it was grouped by. */
export interface CompletionsUsage {
  readonly modelRequests: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly keyId: string | null;
  readonly model: string | null;
}

export interface CompletionsBucket {
  /** Unix seconds. */
  readonly startTime: number;
  readonly endTime: number;
  readonly results: readonly CompletionsUsage[];
}

/** A page of `/v1/organization/usage/completions`. `nextStart`: where the next page begins; null: it is the last. */
export const projectUsagePage = (
  buckets: readonly CompletionsBucket[],
  groupBy: ReadonlySet<UsageGroupName>,
  nextStart: number | null,
): JsonObject => ({
  object: 'page',
  data: buckets.map(({ startTime, endTime, results }) => ({
    object: 'bucket',
    start_time: startTime,
    end_time: endTime,
    results: results.map((usage) => projectResult(usage, groupBy)),
  })),
  has_more: nextStart !== null,
  next_page: nextStart === null ? null : pageCursor(nextStart),
});

/** There are no audio tokens, batches, projects, users and tiers here. */
const projectResult = (usage: CompletionsUsage, groupBy: ReadonlySet<UsageGroupName>): JsonObject => ({
  object: 'organization.usage.completions.result',
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  input_cached_tokens: usage.cachedTokens,
  input_cache_write_tokens: usage.cacheWriteTokens,
  input_audio_tokens: 0,
  output_audio_tokens: 0,
  num_model_requests: usage.modelRequests,
  project_id: null,
  user_id: null,
  api_key_id: usage.keyId,
  model: usage.model,
  batch: groupBy.has('batch') ? false : null,
  service_tier: null,
  api_source: groupBy.has('api_source') ? 'unlabeled' : null,
});
