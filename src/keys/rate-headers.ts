import type { LimitWindow } from '../store/ports/limits.ts';
import type { KeyLimit } from './key.ts';

/** OpenAI's headers for the limits per minute, which some clients wait by. Of several limits the one with the least left. */
export const rateHeaders = (
  limits: ReadonlyMap<string, KeyLimit>,
  windows: ReadonlyMap<string, LimitWindow>,
  now: number,
): Readonly<Record<string, string>> =>
  Object.assign({}, headersOf('requests', limits, windows, now), headersOf('tokens', limits, windows, now));

const headersOf = (
  unit: 'requests' | 'tokens',
  limits: ReadonlyMap<string, KeyLimit>,
  windows: ReadonlyMap<string, LimitWindow>,
  now: number,
): Readonly<Record<string, string>> => {
  const [least] = [...limits]
    .filter(([, limit]) => limit.unit === unit && limit.window === 'minute')
    .flatMap(([name, { max }]) => {
      const window = windows.get(name);
      return window === undefined ? [] : [{ max, left: Math.max(0, max - window.used), ...window }];
    })
    .toSorted((one, other) => one.left - other.left);
  if (least === undefined) return {};
  return {
    [`x-ratelimit-limit-${unit}`]: String(least.max),
    [`x-ratelimit-remaining-${unit}`]: String(least.left),
    [`x-ratelimit-reset-${unit}`]: `${Math.max(0, Math.ceil((least.resetsAt - now) / 1_000))}s`,
  };
};
