interface Window {
  readonly used_percent: number;
  readonly window_minutes: number | null;
  /** Seconds since 1970. */
  readonly resets_at: number | null;
}

/** `GET /v1/codex/rate-limits`. */
export interface LimitsAnswer {
  readonly allowed: boolean | null;
  readonly rate_limits:
    | readonly {
        readonly id: string;
        readonly name: string | null;
        readonly primary: Window | null;
        readonly secondary: Window | null;
      }[]
    | null;
}

export interface LimitRow {
  readonly label: string;
  readonly usedPercent: number;
  readonly resetsAt: number | null;
}

const MINUTES = [
  ['day', 24 * 60],
  ['hour', 60],
  ['minute', 1],
] as const;

/** `5 hours`, `7 days`. */
const lengthOf = (minutes: number | null): string => {
  if (minutes === null) return 'Limit';
  const [unit, size] = MINUTES.find(([, least]) => minutes % least === 0) ?? ['minute', 1];
  const count = minutes / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
};

/** A row for each window of each limit. The name of a limit is shown if there are several. */
export const limitRows = ({ rate_limits: limits }: LimitsAnswer): readonly LimitRow[] =>
  (limits ?? []).flatMap(({ id, name, primary, secondary }, index, all) =>
    [primary, secondary]
      .filter((window) => window !== null)
      .map((window) => ({
        label: `${all.length > 1 || index > 0 ? `${name ?? id}: ` : ''}${lengthOf(window.window_minutes)}`,
        usedPercent: window.used_percent,
        resetsAt: window.resets_at,
      })),
  );
