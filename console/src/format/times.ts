const DATE_TIME = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const;

/** `Nov 17, 2026, 10:40:12 PM` for seconds since 1970. */
export const dateTime = (seconds: number): string => DATE_TIME.format(seconds * 1000);

/** `3 minutes ago`, `in 2 hours` for seconds since 1970. */
export const relative = (seconds: number, nowMs: number): string => {
  const away = Math.round(seconds - nowMs / 1000);
  const [unit, size] = UNITS.find(([, least]) => Math.abs(away) >= least) ?? ['second', 1];
  return RELATIVE.format(Math.trunc(away / size), unit);
};
