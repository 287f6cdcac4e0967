import type { Failure } from '../../canonical/failure/failure.ts';
import { errorBody } from '../../openai/shared/error-body.ts';

/** The response to a failed request. */
export const errorResponse = (failed: Failure): Response =>
  Response.json(errorBody(failed), {
    status: failed.status,
    headers: {
      ...failed.headers,
      ...(failed.retryAfterSeconds === null ? {} : { 'retry-after': String(failed.retryAfterSeconds) }),
    },
  });
