import type { Clock } from '../kit/ambient.ts';
import type { Store } from './store.ts';

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

interface SweeperOptions {
  readonly store: Pick<Store, 'sweep'>;
  readonly clock: Clock;
  /** Between two looks for expired rows. */
  readonly intervalMs?: number;
  /** Rows of each kind in one step. */
  readonly limit?: number;
  readonly onSwept?: (rows: number) => void;
  readonly onError: (error: unknown) => void;
}

interface Sweeper {
  /** Waits for the step that runs. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 60_000;
/** A step of this size takes some milliseconds. */
const LIMIT = 100;
/** Between two steps, so that requests come first. */
const PAUSE_MS = 100;

/** Deletes expired rows in small steps for as long as the server runs. It does not keep the process alive. */
export const startSweeper = ({
  store,
  clock,
  intervalMs = INTERVAL_MS,
  limit = LIMIT,
  onSwept,
  onError,
}: SweeperOptions): Sweeper => {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let isStopped = false;
  const isTrusted = createClockTrust(clock);
  const schedule = (milliseconds: number): void => {
    if (isStopped) return;
    timer = setTimeout(() => void (running = step()), milliseconds);
    timer.unref();
  };
  const step = async (): Promise<void> => {
    let rows = 0;
    try {
      if (isTrusted()) rows = await store.sweep(limit);
      if (rows > 0) onSwept?.(rows);
    } catch (error) {
      onError(error);
    }
    schedule(rows > 0 ? Math.min(PAUSE_MS, intervalMs) : intervalMs);
  };
  schedule(intervalMs);
  return {
    async stop() {
      isStopped = true;
      if (timer !== null) clearTimeout(timer);
      await running;
    },
  };
};
