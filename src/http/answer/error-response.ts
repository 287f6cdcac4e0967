import { type Failure, gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { openaiErrors } from '../../openai/shared/error-body.ts';
import type { ErrorForm } from '../../turns/api.ts';
import { anthropicErrors } from '../../anthropic/errors.ts';
import { quoted } from '../../kit/text/display.ts';

/**
 * Whether the client expects answers in the form of Anthropic's API. Its model list has the path of OpenAI's: without
 * a version, the header of the key decides.
 */
export const isForAnthropic = ({ url, headers }: Pick<Request, 'url' | 'headers'>): boolean => {
  if (headers.has('anthropic-version')) return true;
  const { pathname } = new URL(url);
  if (/^\/v1\/messages(?:\/|$)/.test(pathname)) return true;
  return /^\/v1\/models(?:\/|$)/.test(pathname) && headers.has('x-api-key') && !headers.has('authorization');
};

/** The form of errors for a request that no API has read. */
export const errorFormOf = (http: Pick<Request, 'url' | 'headers'>): ErrorForm =>
  isForAnthropic(http) ? anthropicErrors : openaiErrors;

/** The response to a failed request. One that no route could read gets OpenAI's form. */
export const errorResponse = (
  failed: Failure,
  form: ErrorForm = openaiErrors,
  requestId: string | null = null,
): Response => {
  const { status, headers, body } = form(failed, requestId);
  return Response.json(body, { status, headers });
};

/** The error for a URL that is not served. */
export const unknownUrl = (method: string, path: string, hint = ''): GatewayError =>
  gatewayError('unknown_url', { message: `Unknown request URL: ${method} ${quoted(path)}.${hint}` });
