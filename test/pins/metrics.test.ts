import { expect, it } from 'vitest';

import { createMetrics } from '../../src/observe/metrics.ts';

/** Dashboards and alerts read these. A change here is a change of the API: name it in the changelog. */
it('has these metrics', async () => {
  const page = await createMetrics().print();
  expect([...page.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(([, metric]) => metric)).toEqual([]);
});
