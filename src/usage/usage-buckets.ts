import { hourOf, HOUR_MS } from './usage-hours.ts';

/** A part of a time range, in milliseconds; `end` is excluded. */
export interface UsageBucket {
  readonly start: number;
  readonly end: number;
}

export interface BucketRange {
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

/** Usage is recorded by the hour: a range begins and ends with whole hours. */
export const wholeHours = (from: number, to: number): { readonly from: number; readonly to: number } => ({
  from: hourOf(from),
  to: hourOf(to + HOUR_MS - 1),
});

/** The first buckets of a range. They begin at whole hours or days of UTC, except for the first one. */
export const bucketsIn = ({ from, to, width }: BucketRange, limit: number): readonly UsageBucket[] => {
  const buckets: UsageBucket[] = [];
  for (let start = from; start < to && buckets.length < limit;) {
    const end = Math.min(start - (start % width) + width, to);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
};
