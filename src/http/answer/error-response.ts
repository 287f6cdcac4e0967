import type { Failure } from '../../canonical/failure/failure.ts';
import { errorBody } from '../../openai/shared/error-body.ts';

/** The response to a failed request. A request that matches no API gets OpenAI's error body. */
export const errorResponse = (failed: Failure, bodyOf: (failed: Failure) => unknown = errorBody): Response =>
  Response.json(bodyOf(failed), {
    status: failed.status,
    headers: {
      ...failed.headers,
      ...(failed.retryAfterSeconds === null ? {} : { 'retry-after': String(failed.retryAfterSeconds) }),
    },
  });
