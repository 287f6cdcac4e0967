import type { Clock } from '../kit/ambient.ts';

const HOUR_MS = 60 * 60 * 1000;

/** A clock that is never set: milliseconds since any time. */
const systemMonotonic: Clock = { now: () => Number(process.hrtime.bigint() / 1_000_000n) };

/**
 * Returns whether the clock can be trusted with deleting; to be asked again and again. A clock that jumped ahead by more
 * than an hour may be wrong, and is believed an hour later: until then it can be set back, and nothing is lost.
 */
export const createClockTrust = (clock: Clock, monotonic: Clock = systemMonotonic): (() => boolean) => {
  let last = { wall: clock.now(), monotonic: monotonic.now() };
  let isTrustedAt = last.monotonic;
  return () => {
    const now = { wall: clock.now(), monotonic: monotonic.now() };
    const jump = now.wall - last.wall - (now.monotonic - last.monotonic);
    last = now;
    if (jump > HOUR_MS) isTrustedAt = now.monotonic + HOUR_MS;
    if (jump < -HOUR_MS) isTrustedAt = now.monotonic;
    return now.monotonic >= isTrustedAt;
  };
};
