import { expect, it } from 'vitest';

import { LIMIT_WINDOWS } from './key.ts';
import { windowAt } from './key-limits.ts';

const endsOf = (at: string) =>
  Object.fromEntries(
    LIMIT_WINDOWS.map((window) => [
      window,
      new Date(windowAt(window, Date.parse(at)).resetsAt).toISOString(),
    ]),
  );

it('ends with the calendar in UTC, or a time after the first use', () => {
  expect(endsOf('2026-12-31T23:59:59.999Z')).toEqual({
    minute: '2027-01-01T00:00:00.000Z',
    '5h': '2027-01-01T04:59:59.999Z',
    day: '2027-01-01T00:00:00.000Z',
    '7d': '2027-01-07T23:59:59.999Z',
    month: '2027-01-01T00:00:00.000Z',
  });
  // At its very beginning a window has its whole length.
  expect(endsOf('2028-02-01T00:00:00.000Z')).toEqual({
    minute: '2028-02-01T00:01:00.000Z',
    '5h': '2028-02-01T05:00:00.000Z',
    day: '2028-02-02T00:00:00.000Z',
    '7d': '2028-02-08T00:00:00.000Z',
    month: '2028-03-01T00:00:00.000Z',
  });
});

it('never lasts longer than its length', () => {
  const now = Date.parse('2026-08-01T00:00:00.000Z');
  for (const window of LIMIT_WINDOWS) {
    const { resetsAt, lengthMs } = windowAt(window, now);
    expect(resetsAt - now).toBe(lengthMs);
  }
});
