import type { JsonObject } from '../../kit/json/json.ts';
import { pageCursor, type UsageGroupName } from './usage-query.ts';

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
