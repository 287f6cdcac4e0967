import { describe, expect, it } from 'vitest';

import { isRealUuidV7, UUID_V7, uuidV7 } from './uuid-v7.ts';

const NOW = Date.UTC(2026, 10, 5, 12, 30);

describe('a UUID of version 7', () => {
  it('starts with its creation time and is random otherwise', () => {
    const [one, two] = [uuidV7(NOW), uuidV7(NOW)];
    expect(one).toMatch(UUID_V7);
    expect(Number.parseInt(one.replaceAll('-', '').slice(0, 12), 16)).toBe(NOW);
    expect(two.slice(0, 13)).toBe(one.slice(0, 13));
    expect(two).not.toBe(one);
    // Ordered by time.
    expect(uuidV7(NOW + 1) > one).toBe(true);
  });

  it.each([
    ['one of ours', uuidV7(NOW), true],
    ['one of a clock that is ahead', uuidV7(NOW + 60_000), true],
    ['one of next year', uuidV7(Date.UTC(2027, 10)), false],
    ['one of the first days of time', uuidV7(1), false],
    ['a random one', 'b1946ac9-2c4b-4d3a-9f2e-5d6f7a8b9c0d', false],
    ['one in capitals', uuidV7(NOW).replace(/^.{8}/, '019A5C0B').toUpperCase(), false],
    ['a name', 'my conversation', false],
    ['nothing', '', false],
  ])('is distinguished from others: %s', (_, text, isReal) => {
    expect(isRealUuidV7(text, NOW)).toBe(isReal);
  });
});
