import { expect, it } from 'vitest';

import { Renewals } from './renewals.ts';

it('lets a few renewals pass at once, and then one every half minute', () => {
  const renewals = new Renewals();
  const passed = (nowMs: number): number =>
    Array.from({ length: 100 }, () => renewals.mayRenew(nowMs)).filter(Boolean).length;
  expect([0, 1_000, 29_999, 30_000, 45_000, 90_000, 10_000_000].map(passed)).toEqual([6, 0, 0, 1, 0, 2, 6]);
});
