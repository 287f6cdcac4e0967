import { failure, type Failure, type FailureCode } from '../../canonical/failure.ts';
import { isJsonObject } from '../../kit/json.ts';
import { withoutInternals } from '../translate/failures.ts';

/** What an upstream says about an error, in whichever of its usual forms. */
export interface UpstreamError {
  readonly message: string | null;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** When a used-up quota is filled again. */
  readonly resetsInSeconds: number | null;
}

const NOTHING: UpstreamError = { message: null, type: null, code: null, param: null, resetsInSeconds: null };

export const readUpstreamError = (text: string): UpstreamError => {
  const body = parseObject(text);
  if (body === null) return NOTHING;
  const error = isJsonObject(body['error']) ? body['error'] : body;
  const textOf = (key: string): string | null => {
    const value = error[key];
    return typeof value === 'string' ? value : null;
  };
  const resets = error['resets_in_seconds'];
  return {
    message:
      textOf('message') ?? textOf('detail') ?? (typeof body['error'] === 'string' ? body['error'] : null),
    type: textOf('type'),
    code: textOf('code'),
    param: textOf('param'),
    resetsInSeconds: typeof resets === 'number' ? Math.ceil(resets) : null,
  };
};

const parseObject = (text: string): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

/** Words of an upstream for "your quota is used up": waiting a moment does not help. */
const QUOTA = /usage_limit|insufficient_quota|billing|quota_exceeded|usage_not_included/;

/** An HTTP error of the backend as the client gets it, with its own message, param and code where they are the client's business. */
export const httpFailure = (status: number, text: string, retryAfter: number | null): Failure => {
  const error = readUpstreamError(text);
  const said = {
    ...(error.message === null ? {} : { message: withoutInternals(error.message) }),
    ...(error.code === null ? {} : { code: error.code }),
    param: error.param,
  };
  const wait = retryAfter === null ? {} : { retryAfterSeconds: retryAfter };
  switch (status) {
    case 401:
      // Its words may quote a key, and the key is ours, not the client's.
      return failure('upstream_unauthorized');
    case 403:
      return failure('upstream_forbidden', { ...('message' in said ? { message: said.message } : {}) });
    case 404:
      return failure('model_not_found', { ...said, code: 'model_not_found', param: error.param ?? 'model' });
    case 413:
      return failure('context_length_exceeded', said);
    case 429: {
      const isQuota = QUOTA.test(`${error.type ?? ''} ${error.code ?? ''}`);
      const resets =
        isQuota && error.resetsInSeconds !== null ? { retryAfterSeconds: error.resetsInSeconds } : wait;
      const message = 'message' in said ? { message: said.message } : {};
      return failure(isQuota ? 'insufficient_quota' : 'rate_limit_exceeded', { ...message, ...resets });
    }
    case 503:
    case 529:
      return failure('upstream_overloaded', wait);
    default:
      if (status >= 500) return failure('upstream_error', wait);
      return failure(clientKind(error.code), said);
  }
};

const clientKind = (code: string | null): FailureCode =>
  code === 'context_length_exceeded' ? 'context_length_exceeded' : 'invalid_prompt';

/** The error of a `response.failed` or an `error` event: a code and a message, no status. */
export const streamFailure = (code: string | null, message: string | null): Failure => {
  const said = message === null ? {} : { message: withoutInternals(message) };
  switch (code) {
    case 'context_length_exceeded':
      return failure('context_length_exceeded', { ...said, param: 'input' });
    case 'rate_limit_exceeded':
      return failure('rate_limit_exceeded', said);
    case 'insufficient_quota':
    case 'usage_limit_reached':
    case 'usage_not_included':
      return failure('insufficient_quota', said);
    case 'invalid_prompt':
      return failure('invalid_prompt', said);
    case 'server_is_overloaded':
    case 'slow_down':
      return failure('upstream_overloaded', said);
    default:
      return failure('upstream_error', {
        ...said,
        ...(code === null || code === 'server_error' ? {} : { code }),
      });
  }
};
