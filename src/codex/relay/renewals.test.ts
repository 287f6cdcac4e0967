import { expect, it } from 'vitest';

import { failure } from '../../canonical/failure.ts';
import { Renewals } from './renewals.ts';

it('lets those of many turns pass at once, and then one every half minute', () => {
  let now = 0;
  const renewals = new Renewals(() => now);
  const passed = (nowMs: number): number => {
    now = nowMs;
    return Array.from({ length: 200 }, () => renewals.mayRenew()).filter(Boolean).length;
  };
  const times = [0, 1_000, 29_999, 30_000, 45_000, 90_000, 10_000_000];
  expect(times.map(passed)).toEqual([100, 0, 0, 1, 0, 2, 100]);
});

it('says that the login is no good where new tokens did not help', () => {
  const renewals = new Renewals(() => 0);
  while (renewals.mayRenew()) renewals.answered(503);
  expect(renewals.trouble).toBeNull();
  renewals.answered(200);
  expect([renewals.mayRenew(), renewals.trouble]).toEqual([false, failure('upstream_unauthorized')]);
});

it('forgets the trouble with one after a minute, or with the next', () => {
  let now = 0;
  const renewals = new Renewals(() => now);
  renewals.note(failure('upstream_blocked'));
  const seen = [0, 59_999, 60_000].map((at) => {
    now = at;
    return renewals.trouble?.kind ?? null;
  });
  renewals.note(failure('upstream_blocked'));
  renewals.note(null);
  expect([...seen, renewals.trouble]).toEqual(['upstream_blocked', 'upstream_blocked', null, null]);
});
