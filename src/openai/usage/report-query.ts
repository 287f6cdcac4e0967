import { z } from 'zod';

import { parseBody } from '../../apis/validation.ts';
import {
  BUCKET_WIDTHS,
  checkOrder,
  hoursOrDays,
  numberIn,
  textIn,
  timeField,
  type BucketWidth,
} from './usage-query.ts';

/** A request for usage in this server's own form. Times are Unix seconds. */
export interface ReportQuery {
  readonly startTime: number;
  readonly endTime: number;
  readonly width: BucketWidth;
}

const SECONDS: Readonly<Record<BucketWidth, number>> = { '1h': 3_600, '1d': 86_400 };
/** The number of buckets. */
const USUAL: Readonly<Record<BucketWidth, number>> = { '1h': 24, '1d': 7 };
const MAX: Readonly<Record<BucketWidth, number>> = { '1h': 168, '1d': 366 };

const schema = z.object({
  start_time: timeField.optional(),
  end_time: timeField.optional(),
  bucket_width: z.enum(['1m', ...BUCKET_WIDTHS]).default('1d'),
});

export const REPORT_PARAMETERS: readonly string[] = Object.keys(schema.shape);

/** Throws a 400 for what is invalid, and for a range with too many buckets. */
export const readReportQuery = (query: URLSearchParams, nowSeconds: number): ReportQuery => {
  const read = parseBody(schema, {
    start_time: numberIn(query, 'start_time'),
    end_time: numberIn(query, 'end_time'),
    bucket_width: textIn(query, 'bucket_width'),
  });
  const width = hoursOrDays(read.bucket_width);
  const endTime = read.end_time ?? nowSeconds + 1;
  const usualStart = Math.max(0, endTime - USUAL[width] * SECONDS[width]);
  const startTime = read.start_time ?? usualStart;
  checkOrder(startTime, endTime);
  parseBody(z.int().min(endTime - MAX[width] * SECONDS[width]), startTime, 'start_time');
  return { startTime, endTime, width };
};
