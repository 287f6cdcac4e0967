import { describe, expect, it } from 'vitest';

import { LogHistogram } from './log-histogram.ts';

const histogramOf = (values: readonly number[]): LogHistogram => {
  const histogram = new LogHistogram();
  for (const value of values) histogram.add(value);
  return histogram;
};

const exact = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? Number.NaN;

describe('LogHistogram', () => {
  it('knows quantiles to within a bucket', () => {
    // Log-normal durations, as a server has them.
    const values = Array.from({ length: 10_000 }, (_, index) =>
      Math.exp(6 + 1.2 * Math.sin(index) + index / 9_000),
    );
    const histogram = histogramOf(values);
    for (const share of [0.5, 0.9, 0.95, 0.99]) {
      const ratio = (histogram.quantile(share) ?? 0) / exact(values, share);
      expect(ratio).toBeGreaterThan(0.84);
      expect(ratio).toBeLessThan(1.19);
    }
  });

  it('is the same for all values at once and for the sum of parts', () => {
    const [one, other] = [
      [1, 5, 900],
      [2_000, 0.2, 40_000, 900],
    ];
    const sum = new LogHistogram();
    sum.addEncoded(histogramOf(one).encode());
    sum.addEncoded(histogramOf([]).encode());
    sum.addEncoded(histogramOf(other).encode());
    expect(sum.encode()).toBe(histogramOf([...one, ...other]).encode());
    expect(sum.encode()).toBe('0:1 1:1 10:1 40:2 44:1 62:1');
  });

  it('has no quantile without values, and a finite one for any value', () => {
    expect(histogramOf([]).quantile(0.5)).toBeNull();
    expect(histogramOf([0]).quantile(0.5)).toBe(1);
    expect(histogramOf([Number.MAX_SAFE_INTEGER]).quantile(1)).toBe(79_806_339);
  });
});
