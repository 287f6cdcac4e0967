import { expect, it } from 'vitest';

import { limitWindows, windowName } from './limit-windows.ts';

it('names windows by their length', () => {
  expect([null, 45, 60, 300, 1440, 10_080].map(windowName)).toEqual([
    'limit',
    '45 minutes',
    '1 hour',
    '5 hours',
    '1 day',
    '7 days',
  ]);
});

it('lists the windows of all limits', () => {
  const window = { used_percent: 42, window_minutes: 300, resets_at: 7 };
  const limit = { id: 'codex', name: null, primary: window, secondary: null, credits: null };
  const spark = {
    ...limit,
    name: 'Spark',
    secondary: { ...window, window_minutes: 10_080, resets_at: null },
  };
  expect(limitWindows({ rate_limits: [limit, spark] })).toEqual([
    { label: 'codex: 5 hours', share: 0.42, resetsAt: 7 },
    { label: 'Spark: 5 hours', share: 0.42, resetsAt: 7 },
    { label: 'Spark: 7 days', share: 0.42, resetsAt: null },
  ]);
  expect(limitWindows({ rate_limits: null })).toEqual([]);
});
