import { failure, type Failure } from './failure.ts';

/** System error codes for resources that this process ran out of. */
const RESOURCE_CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

const RETRY_AFTER_SECONDS = 1;

/** The same errors in the app-server's messages, such as `Too many open files (os error 24)`. */
const RESOURCE_MESSAGE = /\(os error (?:12|23|24|105)\)/;

export const resourceFailure = (): Failure =>
  failure('out_of_resources', { retryAfterSeconds: RETRY_AFTER_SECONDS });

export const isResourceError = (message: string): boolean => RESOURCE_MESSAGE.test(message);

/** The failure for a system error code; null if the code is not about resources. */
export const resourceFailureFor = (code: string | null): Failure | null =>
  code !== null && RESOURCE_CODES.has(code) ? resourceFailure() : null;
