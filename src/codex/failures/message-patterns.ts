import type { ReportedError } from './classify.ts';

type Words = readonly (readonly [RegExp, string])[];

/** Messages about the request, with or without a code, under several statuses. */
const REQUEST: Words = [
  [/encrypted content .*could not be (?:verified|decrypted|parsed)/i, 'invalid_encrypted_content'],
  [/\bitem with id '[^']*' not found/i, 'item_not_found'],
  [/model is not supported when using codex/i, 'model_not_found'],
  [/requires a newer version of codex/i, 'codex_outdated'],
  [/\bmodel\b.{0,200}\bdoes not exist/is, 'model_not_found'],
  [/not a valid model id|invalid model name/i, 'model_not_found'],
  [/(?:incorrect|invalid|missing|expired) api key|api key (?:not valid|expired)/i, 'invalid_api_key'],
];

/** Only if the message mentions a model: a missing path says nothing about models. */
const NOT_FOUND: Words = [...REQUEST, [/\bmodel\b/i, 'model_not_found']];

/** Within an answer there is no HTTP status to tell the kind of error. */
const ANSWER: Words = [
  ...REQUEST,
  [/^model not found/i, 'model_not_found'],
  [/usage limit/i, 'usage_limit_reached'],
  [/quota exceeded|exceeded your current quota/i, 'insufficient_quota'],
  [/rate limit/i, 'rate_limit_exceeded'],
  [/overloaded|at capacity/i, 'server_is_overloaded'],
  [/^invalid prompt\b/i, 'invalid_prompt'],
  [/\bflagged\b|usage polic|policy violation/i, 'content_policy_violation'],
];

/** Codes that add nothing to the status. */
const GENERIC = /^(?:invalid_request|bad_request|not_found)(?:_error)?$/i;

/**
 * The start of a message tells its kind. Some patterns scan far ahead from every match, so the length is
 * limited.
 */
const MAX_READ_CHARS = 4_000;

/** The error code that a message implies if the upstream sends no specific code; null if unknown. */
export const codeFromMessage = ({ status, type, code, message }: ReportedError): string | null => {
  if (message === null || (code !== null && !GENERIC.test(code))) return null;
  const beginning = message.slice(0, MAX_READ_CHARS);
  const known = wordsFor(status, type).find(([pattern]) => pattern.test(beginning));
  return known?.[1] ?? null;
};

const wordsFor = (status: number | null, type: string | null): Words => {
  if (status === 404) return NOT_FOUND;
  if (status === 400 || status === 422) return REQUEST;
  if (status !== null) return [];
  return type === null ? ANSWER : REQUEST;
};
