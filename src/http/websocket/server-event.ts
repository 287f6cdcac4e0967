import type { Failure } from '../../canonical/failure/failure.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { errorBody } from '../../openai/shared/error-body.ts';

type Headers = Readonly<Record<string, string>>;

/** The lane of an event, if its request named one. */
export const inLane = (streamId: string | null): { readonly stream_id?: string } =>
  streamId === null ? {} : { stream_id: streamId };

/**
 * The error of a message. `status` and `headers` are what an HTTP answer would have. codex reads the headers of the event,
 * and OpenAI's packages those of its error.
 */
export const errorEvent = (failed: Failure, streamId: string | null, about: Headers = {}): JsonObject => {
  const headers = {
    ...about,
    ...failed.headers,
    ...(failed.retryAfterSeconds === null ? {} : { 'retry-after': String(failed.retryAfterSeconds) }),
  };
  const { error } = errorBody(failed);
  return {
    type: 'error',
    status: failed.status,
    error: { ...error, headers },
    headers,
    ...inLane(streamId),
  };
};
