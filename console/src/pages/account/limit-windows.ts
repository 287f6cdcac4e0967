import type { RateLimits } from './account-answers.ts';

export interface ShownLimit {
  readonly label: string;
  /** Between 0 and 1. */
  readonly share: number;
  /** Seconds since 1970. */
  readonly resetsAt: number | null;
}

const HOUR = 60;
const DAY = 24 * HOUR;

/** `5 hours`, `7 days`. */
export const windowName = (minutes: number | null): string => {
  if (minutes === null) return 'limit';
  const [count, unit] =
    minutes >= DAY
      ? [minutes / DAY, 'day']
      : minutes >= HOUR
        ? [minutes / HOUR, 'hour']
        : [minutes, 'minute'];
  const rounded = Math.round(count * 10) / 10;
  return `${rounded} ${unit}${rounded === 1 ? '' : 's'}`;
};

/** Every window of every limit, with a label that names both. */
export const limitWindows = ({ rate_limits }: RateLimits): readonly ShownLimit[] =>
  (rate_limits ?? []).flatMap(({ id, name, primary, secondary }) =>
    [primary, secondary].flatMap((window) =>
      window === null
        ? []
        : [
            {
              label: `${name ?? id ?? 'Codex'}: ${windowName(window.window_minutes)}`,
              share: window.used_percent / 100,
              resetsAt: window.resets_at,
            },
          ],
    ),
  );
