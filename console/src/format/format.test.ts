import { describe, expect, it } from 'vitest';

import { compact, duration, percent, whole } from './numbers.ts';
import { relative } from './times.ts';

describe('formats', () => {
  it('show numbers', () => {
    expect([whole(1_234_567), compact(12_345), percent(0.4251)]).toEqual(['1,234,567', '12.3K', '42.5%']);
  });

  it.each([
    [0.25, '0.25 ms'],
    [850.4, '850 ms'],
    [1250, '1.25 s'],
    [125_000, '2 min 5 s'],
  ])('show %d ms as %s', (ms, shown) => {
    expect(duration(ms)).toBe(shown);
  });

  it.each([
    [1000, 'now'],
    [1030, 'in 30 seconds'],
    [880, '2 minutes ago'],
    [1000 + 7300, 'in 2 hours'],
    [1000 - 86_400, 'yesterday'],
  ])('show the second %d relative to the second 1000 as %s', (seconds, shown) => {
    expect(relative(seconds, 1_000_000)).toBe(shown);
  });
});
