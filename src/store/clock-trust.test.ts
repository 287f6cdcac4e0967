import { expect, it } from 'vitest';

import { createClockTrust } from './clock-trust.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

it('does not believe a clock that jumped ahead, until an hour has passed or it was set back', () => {
  let [wall, passed] = [1_000, 0];
  const isTrusted = createClockTrust({ now: () => wall }, { now: () => passed });
  const after = (milliseconds: number, jump = 0): boolean => {
    passed += milliseconds;
    wall += milliseconds + jump;
    return isTrusted();
  };
  expect([
    after(0),
    after(MINUTE),
    after(DAY),
    // A leap second, or a correction.
    after(MINUTE, 10 * MINUTE),
    after(MINUTE, DAY),
    after(MINUTE),
    after(HOUR - 2 * MINUTE),
    after(MINUTE),
    after(MINUTE, 365 * DAY),
    after(MINUTE, -365 * DAY),
    after(MINUTE, -10 * DAY),
  ]).toEqual([true, true, true, true, false, false, false, true, false, true, true]);
});
