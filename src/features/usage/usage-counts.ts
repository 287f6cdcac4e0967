import type { ErrorSource } from '../../canonical/failure/catalogue-row.ts';
import type { RequestEnd } from '../../observe/request-end.ts';
import type { UsageCounts } from './store.ts';

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;

/** The start of the hour. */
export const hourOf = (milliseconds: number): number => milliseconds - (milliseconds % HOUR_MS);

export const NO_USAGE: UsageCounts = {
  requests: 0,
  clientErrors: 0,
  limitErrors: 0,
  upstreamErrors: 0,
  serverErrors: 0,
  cancelled: 0,
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  imageInputTokens: 0,
  imageOutputTokens: 0,
  durationMs: 0,
};

const NAMES = Object.keys(NO_USAGE) as (keyof UsageCounts)[];

export const addCounts = (a: UsageCounts, b: UsageCounts): UsageCounts =>
  Object.fromEntries(NAMES.map((name) => [name, a[name] + b[name]])) as Record<keyof UsageCounts, number>;

type ErrorKind = 'clientErrors' | 'limitErrors' | 'upstreamErrors' | 'serverErrors' | 'cancelled';

/** The request log names the same source. */
const KINDS: Readonly<Record<ErrorSource, ErrorKind>> = {
  client: 'clientErrors',
  key: 'clientErrors',
  server: 'serverErrors',
  account: 'upstreamErrors',
  backend: 'upstreamErrors',
};

/** Null: it was answered, completely or in part. */
const errorKind = ({ result, failure, errorSource }: RequestEnd): ErrorKind | null => {
  if (errorSource !== null) return failure?.status === 429 ? 'limitErrors' : KINDS[errorSource];
  return result === 'cancelled' ? 'cancelled' : null;
};

/** Whether a request ran a turn or failed to. One that only started a background response did neither. */
export const isCounted = ({ outcome, result }: RequestEnd): boolean =>
  outcome !== null || result !== 'answered';

/** What one request of a turn used. */
export const countsOf = (end: RequestEnd): UsageCounts => {
  const kind = errorKind(end);
  const { usage } = end;
  return {
    ...NO_USAGE,
    requests: 1,
    ...(kind === null ? { durationMs: end.durationMs } : { [kind]: 1 }),
    ...(usage === null
      ? {}
      : {
          inputTokens: usage.inputTokens,
          cachedTokens: usage.cachedInputTokens,
          cacheWriteTokens: usage.cacheWriteInputTokens,
          outputTokens: usage.outputTokens,
          reasoningTokens: usage.reasoningTokens,
          imageInputTokens: usage.images?.input.tokens ?? 0,
          imageOutputTokens: usage.images?.output.tokens ?? 0,
        }),
  };
};
