import { failure, type Failure, type FailureCode } from '../../canonical/failure.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
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
  const invalid = firstInvalid(error);
  return {
    message:
      textOf('message') ??
      textOf('detail') ??
      invalid.message ??
      (typeof body['error'] === 'string' ? body['error'] : null),
    type: textOf('type'),
    code: textOf('code') ?? invalid.code,
    param: textOf('param') ?? invalid.param,
    resetsInSeconds: typeof resets === 'number' ? Math.ceil(resets) : null,
  };
};

/** Servers made with pydantic list what is wrong: `{"detail": [{"type", "loc": ["body", …], "msg"}]}`. */
const firstInvalid = (error: JsonObject): Pick<UpstreamError, 'message' | 'code' | 'param'> => {
  const within = isJsonObject(error['message']) ? error['message'] : error;
  const [first] = Array.isArray(within['detail']) ? (within['detail'] as readonly unknown[]) : [];
  if (!isJsonObject(first)) return { message: null, code: null, param: null };
  const place = Array.isArray(first['loc']) ? (first['loc'] as readonly unknown[]) : [];
  const param = place.filter((step, index) => index > 0 || step !== 'body').join('.');
  return {
    message: typeof first['msg'] === 'string' ? first['msg'] : null,
    code: typeof first['type'] === 'string' ? first['type'] : null,
    param: param === '' ? null : param,
  };
};

const parseObject = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

/** A backend may quote the key that it refuses; keys are ours, not the client's. */
const harmless = (message: string): string =>
  withoutInternals(message)
    .replaceAll(/\bsk-[\w*-]{6,}/g, 'sk-***')
    .replaceAll(/\b(bearer\s+)[^\s"',;]+/gi, '$1***')
    .slice(0, MAX_MESSAGE_CHARS);

const MAX_MESSAGE_CHARS = 4_000;

/** Words of an upstream for "your quota is used up": waiting a moment does not help. */
const QUOTA = /usage_limit|insufficient_quota|billing|quota_exceeded|usage_not_included/;

/** An HTTP error of the backend as the client gets it, with its own message, param and code where they are the client's business. */
export const httpFailure = (status: number, text: string, retryAfter: number | null): Failure => {
  const error = readUpstreamError(text);
  const words = error.message === null ? {} : { message: harmless(error.message) };
  const said = {
    ...words,
    ...(error.code === null ? {} : { code: error.code }),
    param: error.param,
  };
  const wait = retryAfter === null ? {} : { retryAfterSeconds: retryAfter };
  switch (status) {
    case 401:
      // What is wrong with our key is not the client's business.
      return failure('upstream_unauthorized');
    case 403:
      return failure('upstream_forbidden', words);
    case 408:
      return failure('upstream_error', { message: 'The upstream did not answer in time.' });
    case 404:
      return failure('model_not_found', { ...said, code: 'model_not_found', param: error.param ?? 'model' });
    case 413:
      return failure('context_length_exceeded', said);
    case 429: {
      const isQuota = QUOTA.test(`${error.type ?? ''} ${error.code ?? ''}`);
      const resets =
        isQuota && error.resetsInSeconds !== null ? { retryAfterSeconds: error.resetsInSeconds } : wait;
      return failure(isQuota ? 'insufficient_quota' : 'rate_limit_exceeded', { ...words, ...resets });
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

/** The error of a `response.failed` or an `error` event: a code and a message, empty if not given. */
export const streamFailure = (code: string, message: string): Failure => {
  const said = message === '' ? {} : { message: harmless(message) };
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
        ...(code === '' || code === 'server_error' ? {} : { code }),
      });
  }
};
