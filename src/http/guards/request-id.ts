import type { IdSource } from '../../kit/ambient.ts';

/** Safe in a header and a log line. */
const SANE = /^[A-Za-z0-9._:-]{1,128}$/;

/** The client's own `x-request-id`, so that it finds its request in the logs, or a new one. */
export const requestIdOf = (header: string | null, ids: IdSource): string =>
  header !== null && SANE.test(header) ? header : ids.mint('req');
