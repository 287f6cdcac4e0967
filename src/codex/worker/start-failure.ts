import {
  failure,
  GatewayError,
  resourceFailureFor,
  resourceFailure,
  isResourceError,
  type Failure,
} from '../../canonical/failure/failure.ts';

/** The disk, or the user's quota. */
const FULL_DISK_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** The app-server's message on exit: the system's error, or that of SQLite. */
const FULL_DISK_WORDS = /\(os error (?:28|122)\)|database or disk is full/;

const fullDisk = (): Failure =>
  failure('worker_unavailable', {
    message:
      'The disk of the server is full: no app-server can start until there is space for PROXY_STATE_DIR.',
  });

/** The failure for clients after a failed start; null if it would not help them. */
export const startFailure = (error: unknown): Failure | null => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof GatewayError) return cause.failure;
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (FULL_DISK_CODES.has(code) || FULL_DISK_WORDS.test(cause.message)) return fullDisk();
    const short = resourceFailureFor(code) ?? (isResourceError(cause.message) ? resourceFailure() : null);
    if (short !== null) return short;
  }
  return null;
};
