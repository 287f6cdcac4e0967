import { expect, it } from 'vitest';

import { exportTrouble } from './export-trouble.ts';

it('trouble of exporters is logged once a minute, and the rest is counted', () => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: unknown[] = [];
  const { error, warn } = exportTrouble({ warn: (facts: unknown) => void lines.push(facts) }, clock);
  error('refused', new Error('ECONNREFUSED'));
  error('refused again');
  warn('dropped 3 spans');
  clock.nowMs = 60_000;
  error('x'.repeat(1000));
  expect(lines).toEqual([
    { trouble: 'refused ECONNREFUSED', unlogged: 0 },
    { trouble: 'x'.repeat(500), unlogged: 2 },
  ]);
});
