const WHOLE = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/** `12,345`. */
export const whole = (value: number): string => WHOLE.format(value);

/** `12.3K`, for places without room for all digits. */
export const compact = (value: number): string => COMPACT.format(value);

/** A share between 0 and 1 as `42.5%`. */
export const percent = (share: number): string => PERCENT.format(share);

/** `850 ms`, `1.25 s`, `2 min 5 s`. */
export const duration = (ms: number): string => {
  if (ms < 1) return `${Math.round(ms * 100) / 100} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Math.round(ms / 10) / 100} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};
