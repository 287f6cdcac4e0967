import { expect, it } from 'vitest';

import { limitRows } from './limit-rows.ts';

const window = (minutes: number | null, used = 10) => ({
  used_percent: used,
  window_minutes: minutes,
  resets_at: 1_000,
});

it('shows each window of an account with one limit by its length', () => {
  const limit = { id: 'codex', name: null, primary: window(300), secondary: window(10_080, 55) };
  expect(limitRows({ allowed: true, rate_limits: [limit] })).toEqual([
    { label: '5 hours', usedPercent: 10, resetsAt: 1_000 },
    { label: '7 days', usedPercent: 55, resetsAt: 1_000 },
  ]);
});

it('names the limits if there are several, and knows accounts without any', () => {
  const limits = [
    { id: 'codex', name: null, primary: window(60), secondary: null },
    { id: 'other', name: 'Other model', primary: window(null), secondary: window(90) },
  ];
  expect(limitRows({ allowed: true, rate_limits: limits }).map(({ label }) => label)).toEqual([
    'codex: 1 hour',
    'Other model: Limit',
    'Other model: 90 minutes',
  ]);
  expect(limitRows({ allowed: null, rate_limits: null })).toEqual([]);
});
