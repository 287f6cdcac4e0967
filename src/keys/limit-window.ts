import { assertNever } from '../kit/assert-never.ts';
import type { KeyLimit } from './key.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface WindowTimes {
  /** When a window ends that begins now. */
  readonly resetsAt: number;
  /** The longest time of such a window. */
  readonly lengthMs: number;
}

/** Minutes, days and months are those of the UTC calendar. 5 hours and 7 days begin with the first use. */
export const windowAt = (window: KeyLimit['window'], now: number): WindowTimes => {
  switch (window) {
    case 'minute':
      return { resetsAt: nextMultiple(now, MINUTE_MS), lengthMs: MINUTE_MS };
    case 'day':
      return { resetsAt: nextMultiple(now, DAY_MS), lengthMs: DAY_MS };
    case 'month': {
      const date = new Date(now);
      return { resetsAt: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1), lengthMs: 31 * DAY_MS };
    }
    case '5h':
      return { resetsAt: now + 5 * HOUR_MS, lengthMs: 5 * HOUR_MS };
    case '7d':
      return { resetsAt: now + 7 * DAY_MS, lengthMs: 7 * DAY_MS };
    default:
      return assertNever(window);
  }
};

const nextMultiple = (now: number, length: number): number => (Math.floor(now / length) + 1) * length;
