/** A page of `GET /v1/organization/usage/completions`. */
export interface UsagePage {
  readonly data: readonly {
    readonly start_time: number;
    readonly results: readonly {
      readonly input_tokens: number;
      readonly input_cached_tokens: number;
      readonly output_tokens: number;
      readonly num_model_requests: number;
    }[];
  }[];
}

/** Numbers over time, one of each for each time. */
export interface UsageSeries {
  readonly times: readonly number[];
  readonly requests: readonly number[];
  readonly input: readonly number[];
  readonly cached: readonly number[];
  readonly output: readonly number[];
}

const HOUR = 3600;

export const RANGES = {
  '24h': { title: 'Last 24 hours', width: '1h', bucket: HOUR, buckets: 24 },
  '7d': { title: 'Last 7 days', width: '1h', bucket: HOUR, buckets: 168 },
  '30d': { title: 'Last 30 days', width: '1d', bucket: 24 * HOUR, buckets: 30 },
} as const;

export type RangeName = keyof typeof RANGES;

/** The address that asks for a range which ends now. */
export const usagePath = (range: RangeName, nowMs: number): string => {
  const { width, bucket, buckets } = RANGES[range];
  const current = Math.floor(nowMs / 1000 / bucket) * bucket;
  const start = current - (buckets - 1) * bucket;
  const query = new URLSearchParams({
    start_time: String(start),
    bucket_width: width,
    limit: String(buckets),
  });
  return `/v1/organization/usage/completions?${query}`;
};

export const toSeries = ({ data }: UsagePage): UsageSeries => {
  const sums = (field: keyof UsagePage['data'][number]['results'][number]): readonly number[] =>
    data.map(({ results }) => results.reduce((sum, result) => sum + result[field], 0));
  return {
    times: data.map((bucket) => bucket.start_time),
    requests: sums('num_model_requests'),
    input: sums('input_tokens'),
    cached: sums('input_cached_tokens'),
    output: sums('output_tokens'),
  };
};

export const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** The share of the input that came from the prompt cache; null without input. */
export const cacheHitRate = ({ input, cached }: UsageSeries): number | null => {
  const all = total(input);
  return all === 0 ? null : total(cached) / all;
};
