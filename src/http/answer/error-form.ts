import { anthropicErrors } from '../../anthropic/errors.ts';
import { openaiErrors } from '../../openai/shared/error-body.ts';
import type { ErrorForm } from '../../turns/api.ts';

/** Whether the client expects answers in the form of Anthropic's API. */
export const isForAnthropic = ({ url, headers }: Pick<Request, 'url' | 'headers'>): boolean =>
  headers.has('anthropic-version') || /^\/v1\/messages(?:\/|$)/.test(new URL(url).pathname);

/** The form of errors for a request that no API has read. */
export const errorFormOf = (http: Pick<Request, 'url' | 'headers'>): ErrorForm =>
  isForAnthropic(http) ? anthropicErrors : openaiErrors;
