import { describe, expect, it } from 'vitest';

import { failureOf } from '../canonical/failure/failure.ts';
import { BackgroundLimits } from './background-limits.ts';

const limitsOf = (part = 0.5) => {
  let refused = 0;
  const limits = new BackgroundLimits({
    maxResponses: 4,
    maxBytes: 100,
    part: () => part,
    onRefused: () => void (refused += 1),
  });
  const enter = (caller: string, bytes = 1): (() => void) | string => {
    try {
      return limits.enter(caller, bytes);
    } catch (error) {
      const { status, code, message, retryAfterSeconds } = failureOf(error);
      return `${status} ${code}, ${retryAfterSeconds} s: ${/(on this server|of this API key)/.exec(message)?.[0]}`;
    }
  };
  return { limits, enter, refused: () => refused };
};

const OWN = '429 background_limit, 10 s: of this API key';
const ALL = '429 background_limit, 10 s: on this server';
const LEAVES = expect.any(Function) as unknown;

describe('BackgroundLimits', () => {
  it('limits the responses of one caller, and of all', () => {
    const { limits, enter, refused } = limitsOf();
    const leave = enter('a');
    expect([leave, enter('a'), enter('a')]).toEqual([LEAVES, LEAVES, OWN]);
    expect([enter('b'), enter('c'), enter('d'), limits.free]).toEqual([LEAVES, LEAVES, ALL, 0]);
    if (typeof leave === 'function') leave();
    expect([enter('d'), refused()]).toEqual([LEAVES, 2]);
  });

  it('limits the bytes of their requests', () => {
    const { enter } = limitsOf();
    expect([enter('a', 30), enter('a', 30), enter('b', 50), enter('c', 30)]).toEqual([
      LEAVES,
      OWN,
      LEAVES,
      ALL,
    ]);
  });

  it('accepts a single response of any size, and gives one caller everything if there are no others', () => {
    const { enter } = limitsOf(1);
    const leave = enter('a', 1_000);
    expect([leave, enter('a')]).toEqual([LEAVES, ALL]);
    if (typeof leave === 'function') leave();
    expect([enter('a', 90), enter('a', 9), enter('a'), enter('a')]).toEqual([LEAVES, LEAVES, LEAVES, ALL]);
  });
});
