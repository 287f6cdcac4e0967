export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;

/** The start of the hour. */
export const hourOf = (milliseconds: number): number => milliseconds - (milliseconds % HOUR_MS);
