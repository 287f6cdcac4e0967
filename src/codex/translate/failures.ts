import { failure, type Failure, type FailureCode } from '../../canonical/failure.ts';
import type { IncompleteReason } from '../../canonical/outcome.ts';
import { isJsonObject } from '../../kit/json.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';

/** codex's words for an answer that the model did not finish. It is no failure for a client. */
export const incompleteReason = (error: Pick<TurnError, 'message'>): IncompleteReason | null => {
  const reason = /(?:^|: )Incomplete response returned, reason: (\w+)/.exec(error.message)?.[1];
  return reason === 'max_output_tokens' || reason === 'content_filter' ? reason : null;
};

/** What a client is told about a turn that failed. Only words that name nothing internal are passed on. */
export const toFailure = (
  error: Pick<TurnError, 'message' | 'codexErrorInfo'> & Partial<Pick<TurnError, 'additionalDetails'>>,
): Failure => {
  const info = error.codexErrorInfo;
  if (error.additionalDetails?.startsWith('Connection failed') === true)
    return failure('upstream_unreachable');
  if (typeof info === 'string') return byName(info, error.message);
  if (isJsonObject(info)) return byStatus(info);
  return byMessage(error.message);
};

const byName = (info: string, message: string): Failure => {
  switch (info) {
    case 'contextWindowExceeded':
      return failure('context_length_exceeded', { param: 'input' });
    case 'usageLimitExceeded':
    case 'sessionBudgetExceeded':
      return failure('insufficient_quota', { message: withoutInternals(message) });
    case 'rateLimitExceeded':
      return failure('rate_limit_exceeded');
    case 'flexUnavailable':
    case 'serverOverloaded':
    case 'policyCapacityUnavailable':
      return failure('upstream_overloaded');
    case 'modelNotFound':
      return failure('model_not_found', { message: withoutInternals(message), param: 'model' });
    case 'cyberPolicy':
    case 'misalignmentPolicyViolation':
      return failure('content_policy_violation', { message: withoutInternals(message) });
    case 'unauthorized':
      return failure('upstream_unauthorized');
    case 'internalServerError':
      return failure('upstream_error');
    case 'badRequest':
    case 'other':
      return byMessage(message);
    default:
      return failure('server_error');
  }
};

/** The variants that carry the upstream's HTTP status: `{httpConnectionFailed: {httpStatusCode}}` and the like. */
const byStatus = (info: Readonly<Record<string, unknown>>): Failure => {
  const [variant, details] = Object.entries(info)[0] ?? ['', null];
  const status = isJsonObject(details) ? details['httpStatusCode'] : null;
  if (typeof status === 'number') return ofStatus(status);
  return failure(variant === 'httpConnectionFailed' ? 'upstream_unreachable' : 'upstream_error');
};

const ofStatus = (status: number): Failure => {
  const kinds: Readonly<Record<number, FailureCode>> = {
    401: 'upstream_unauthorized',
    403: 'upstream_forbidden',
    404: 'model_not_found',
    413: 'context_length_exceeded',
    429: 'rate_limit_exceeded',
    503: 'upstream_overloaded',
  };
  const kind = kinds[status];
  if (kind !== undefined) return failure(kind);
  return failure(status >= 400 && status < 500 ? 'invalid_prompt' : 'upstream_error');
};

/** A 400 of the upstream comes as its whole JSON body in a string; other trouble as a sentence. */
const byMessage = (message: string): Failure => {
  const upstream = upstreamError(message);
  if (upstream !== null) return upstream;
  const status = /unexpected status (\d{3})/.exec(message)?.[1];
  if (status !== undefined) return ofStatus(Number(status));
  if (/error sending request|connection refused|dns error/i.test(message))
    return failure('upstream_unreachable');
  return failure('upstream_error');
};

const upstreamError = (message: string): Failure | null => {
  const body = parseObject(message);
  const error = isJsonObject(body?.['error']) ? body['error'] : body;
  if (error === null) return null;
  const text = error['message'] ?? error['detail'];
  if (typeof text !== 'string') return null;
  const { code, param } = error;
  return failure(code === 'context_length_exceeded' ? 'context_length_exceeded' : 'invalid_prompt', {
    message: withoutInternals(text),
    ...(typeof code === 'string' ? { code } : {}),
    param: typeof param === 'string' ? param : null,
  });
};

const parseObject = (text: string): Readonly<Record<string, unknown>> | null => {
  if (!text.startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

/** Pages for people, which an upstream may well point to. */
const PUBLIC_HOST = /(?:^|\.)(?:openai\.com|chatgpt\.com)$/;

/** Addresses and paths are ours, not the client's. */
export const withoutInternals = (message: string): string =>
  message
    .replaceAll(/,? ?url: \S+/g, '')
    .replaceAll(/,? ?\bhttps?:\/\/[^\s),;]+/g, (link) => {
      const host = URL.parse(link.replace(/^,? ?/, ''))?.hostname ?? '';
      return PUBLIC_HOST.test(host) ? link : '';
    })
    .replaceAll(/(?<![\w.:/])\/(?:[\w.@-]+\/)+[\w.@-]+/g, '…');
