import type { ReportedError } from './classify.ts';

type Words = readonly (readonly [RegExp, string])[];

/** About the request, and told with or without a code, under several statuses. */
const REQUEST: Words = [
  [/encrypted content .*could not be (?:verified|decrypted|parsed)/i, 'invalid_encrypted_content'],
  [/\bitem with id '[^']*' not found/i, 'item_not_found'],
  [/model is not supported when using codex/i, 'model_not_found'],
  [/requires a newer version of codex/i, 'model_not_found'],
  [/\bmodel\b.{0,200}\bdoes not exist/is, 'model_not_found'],
  [/not a valid model id|invalid model name/i, 'model_not_found'],
  [/(?:incorrect|invalid|missing|expired) api key|api key (?:not valid|expired)/i, 'invalid_api_key'],
];

/** A path that is not there says nothing about models. */
const NOT_FOUND: Words = [...REQUEST, [/\bmodel\b/i, 'model_not_found']];

/** Inside of an answer there is no status that would say what kind of error it is. */
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

/** Codes that say no more than the status does. */
const GENERIC = /^(?:invalid_request|bad_request|not_found)(?:_error)?$/i;

/** What kind of error it is stands at its beginning. Some patterns look far ahead from every word that they begin with. */
const MAX_READ_CHARS = 4_000;

/** The code that an upstream means when it says it in words alone; null where they say nothing to us. */
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
