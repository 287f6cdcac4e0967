import { anthropicErrors } from '../../anthropic/errors.ts';
import { openaiErrors } from '../../openai/shared/error-body.ts';
import type { ErrorForm } from '../../turns/api.ts';

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
