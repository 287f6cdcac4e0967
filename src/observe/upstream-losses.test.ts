import { expect, it } from 'vitest';

import { createMetrics } from './metrics.ts';
import { reportAnomalies, reportRelayLosses } from './upstream-losses.ts';

const watched = () => {
  const lines: unknown[] = [];
  const metrics = createMetrics();
  const logger = { warn: (...line: unknown[]) => void lines.push(line) } as never;
  return { lines, metrics, logger };
};

it('logs unreadable events once per answer, and repairs once', () => {
  const { lines, metrics, logger } = watched();
  const losses = reportRelayLosses(metrics, logger);
  for (const nth of [1, 2, 1]) losses.onUnreadable('no-json', nth);
  for (const repaired of ['usage', 'usage', 'arguments'] as const) losses.onRepaired(repaired);
  const repaired = 'the upstream deviates from the Responses API; its events are repaired';
  expect(lines).toEqual([
    [{ why: 'no-json' }, 'an upstream event could not be read'],
    [{ why: 'no-json' }, 'an upstream event could not be read'],
    [{ what: 'usage' }, repaired],
    [{ what: 'arguments' }, repaired],
  ]);
});

it('logs a loss of a turn once, and no other anomalies', () => {
  const { lines, metrics, logger } = watched();
  const report = reportAnomalies(metrics, logger);
  for (const nth of [1, 2]) report('item-without-name', { model: 'm', nth });
  report('text-differs', { model: 'm', nth: 1 });
  expect(lines).toEqual([
    [{ model: 'm', response_item_parse_error: 'no_name' }, 'an upstream output item was dropped'],
  ]);
});
