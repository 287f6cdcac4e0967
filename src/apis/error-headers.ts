import type { Failure } from '../canonical/failure/failure.ts';

/** The headers of an error: those of its failure, and when to try again. */
export const errorHeaders = ({
  headers,
  retryAfterSeconds,
}: Pick<Failure, 'headers' | 'retryAfterSeconds'>): Readonly<Record<string, string>> => ({
  ...headers,
  ...(retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }),
});
