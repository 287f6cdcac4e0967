import { expect, it } from 'vitest';

import { duration } from './duration.ts';

it.each([
  [0, '0 ms'],
  [12.4, '12 ms'],
  [1_000, '1.0 s'],
  [1_249, '1.2 s'],
  [60_000, '1 min 0 s'],
  [200_400, '3 min 20 s'],
])('formats %d ms', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
