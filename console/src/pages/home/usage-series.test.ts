import { expect, it } from 'vitest';

import { cacheHitRate, toSeries, usagePath } from './usage-series.ts';

const result = (input: number, cached: number, output: number, requests: number) => ({
  input_tokens: input,
  input_cached_tokens: cached,
  output_tokens: output,
  num_model_requests: requests,
});

it('adds up the results of each bucket', () => {
  const series = toSeries({
    data: [
      { start_time: 3600, results: [] },
      { start_time: 7200, results: [result(100, 25, 7, 1), result(100, 25, 3, 2)] },
    ],
  });
  expect(series).toEqual({
    times: [3600, 7200],
    requests: [0, 3],
    input: [0, 200],
    cached: [0, 50],
    output: [0, 10],
  });
  expect(cacheHitRate(series)).toBe(0.25);
  expect(cacheHitRate(toSeries({ data: [] }))).toBeNull();
});

it.each([
  ['24h', '/v1/organization/usage/completions?start_time=277200&bucket_width=1h&limit=24'],
  ['7d', '/v1/organization/usage/completions?start_time=-241200&bucket_width=1h&limit=168'],
  ['30d', '/v1/organization/usage/completions?start_time=-2160000&bucket_width=1d&limit=30'],
] as const)('asks for whole buckets that include the current one: %s', (range, path) => {
  expect(usagePath(range, (100 * 3600 + 1800) * 1000)).toBe(path);
});
