import type { Failure } from '../canonical/failure/failure.ts';
import { errorHeaders } from '../apis/error-headers.ts';
import type { ErrorForm } from '../turns/api.ts';
import { anthropicError } from './error-table.ts';

/** The error object. Further fields of a failure, such as `details`, are part of it. */
const projectError = (failed: Failure) => ({
  type: anthropicError(failed).type,
  message: messageOf(failed),
  ...failed.more,
});

/** The body of an error, which is also the data of an `error` event. */
export const anthropicErrorBody = (failed: Failure) => ({
  type: 'error' as const,
  error: projectError(failed),
});

/** Anthropic's errors. */
export const anthropicErrors: ErrorForm = (failed, requestId) => {
  const { status, isFinal = false } = anthropicError(failed);
  return {
    status,
    headers: { ...errorHeaders(failed), ...(isFinal ? { 'x-should-retry': 'false' } : {}) },
    body: { ...anthropicErrorBody(failed), request_id: requestId },
  };
};

/** Anthropic's form has no `param`: the message names the field first, as in `max_tokens: Field required`. */
const messageOf = (failed: Failure): string => {
  const { kind, message, param } = failed;
  if (param === null || anthropicError(failed).isAboutField !== true) return message;
  if (param === '') return message.replace(/^Invalid type for '': /, 'body: ');
  if (kind === 'missing_required_parameter') return `${param}: Field required`;
  const opening = OPENINGS.map((text) => `${text} '${param}': `).find((text) => message.startsWith(text));
  if (opening !== undefined) return `${param}: ${message.slice(opening.length)}`;
  const isNamed = message.includes(`'${param}'`) || message.startsWith(`${param}: `);
  return isNamed ? message : `${param}: ${message}`;
};

/** How messages in OpenAI's wording begin before they name the field. */
const OPENINGS = ['Invalid type for', 'Invalid'];
