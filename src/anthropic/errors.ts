import type { FailureCode } from '../canonical/failure/failure-catalogue.ts';
import type { Failure } from '../canonical/failure/failure.ts';
import { errorHeaders } from '../apis/error-headers.ts';
import type { ErrorForm } from '../turns/api.ts';

/** Anthropic's type of an error with this status. */
const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Failures that have another status here than in OpenAI's API. */
const STATUS: Readonly<Partial<Record<FailureCode, number>>> = {
  upstream_forbidden: 403,
  server_overloaded: 529,
  upstream_overloaded: 529,
};

const statusOf = ({ kind, status }: Failure): number => STATUS[kind] ?? status;

/** The error object. */
const projectError = (failed: Failure) => ({
  type: TYPES[statusOf(failed)] ?? 'api_error',
  message: failed.message,
});

/** The body of an error, which is also the data of an `error` event. */
export const anthropicErrorBody = (failed: Failure) => ({
  type: 'error' as const,
  error: projectError(failed),
});

/** Anthropic's errors. */
export const anthropicErrors: ErrorForm = (failed, requestId) => ({
  status: statusOf(failed),
  headers: errorHeaders(failed),
  body: { ...anthropicErrorBody(failed), request_id: requestId },
});
