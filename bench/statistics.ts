/** The quantile of the samples; `part` is between 0 and 1. */
export const quantile = (samples: readonly number[], part: number): number => {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
};

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

export const sum = (samples: readonly number[]): number => samples.reduce((a, b) => a + b, 0);
