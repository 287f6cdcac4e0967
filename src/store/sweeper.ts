import type { Clock } from '../kit/ambient.ts';
import { createClockTrust } from './clock-trust.ts';
import type { Store } from './store.ts';

export interface SweeperOptions {
  readonly store: Pick<Store, 'sweep'>;
  readonly clock: Clock;
  /** Between two looks for expired rows. */
  readonly intervalMs?: number;
  /** Rows of each kind in one step. */
  readonly limit?: number;
  readonly onSwept?: (rows: number) => void;
  readonly onError: (error: unknown) => void;
}

export interface Sweeper {
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
