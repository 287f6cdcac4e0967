import type { Meter } from '@opentelemetry/api';

import { attributesOf, METRICS, type Inference } from './conventions.ts';
import type { Conventions } from './settings.ts';

/** Records the metrics of a model request that has ended. */
export const genAiMetrics = (meter: Meter, conventions: Conventions): ((inference: Inference) => void) => {
  const rows = METRICS.filter((row) => row.conventions.includes(conventions)).map((row) => {
    const { name, kind, unit, description, boundaries } = row;
    const options = { unit, description };
    if (kind === 'counter') {
      const counter = meter.createCounter(name, options);
      return { ...row, record: counter.add.bind(counter) };
    }
    const histogram = meter.createHistogram(name, {
      ...options,
      ...(boundaries === undefined ? {} : { advice: { explicitBucketBoundaries: [...boundaries] } }),
    });
    return { ...row, record: histogram.record.bind(histogram) };
  });
  return (inference) => {
    const attributes = attributesOf(inference, conventions, 'metric');
    for (const { valueOf, labels, record } of rows) {
      const value = valueOf(inference);
      if (value !== null)
        record(value, labels === undefined ? { ...attributes } : { ...attributes, ...labels });
    }
  };
};
