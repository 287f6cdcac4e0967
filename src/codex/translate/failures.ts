import { failure, resourceFailure, isResourceError, type Failure } from '../../canonical/failure/failure.ts';
import type { IncompleteReason } from '../../canonical/events/turn-event.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { isBlockPage } from '../failures/block-page.ts';
import { classify, NO_DETAILS, unfinishedFailure, type ReportedError } from '../failures/classify.ts';
import { readErrorBody } from '../failures/read-error.ts';
import { hostOf, unreachable } from '../failures/unreachable.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';

/** Reads codex's message for an answer that the model did not finish, which is not a failure for clients. */
export const incompleteReason = (error: Pick<TurnError, 'message'>): IncompleteReason | null => {
  const reason = /(?:^|: )Incomplete response returned, reason: (\w+)/.exec(error.message)?.[1];
  return reason === 'max_output_tokens' || reason === 'content_filter' ? reason : null;
};

/** Translates codex's error for a failed turn, which repeats what its backend reported. */
export const toFailure = (
  error: Pick<TurnError, 'message' | 'codexErrorInfo'> & Partial<Pick<TurnError, 'additionalDetails'>>,
): Failure => {
  const info = error.codexErrorInfo;
  if (isResourceError(error.message)) return resourceFailure();
  if (error.additionalDetails?.startsWith('Connection failed') === true)
    return failure('upstream_unreachable');
  if (typeof info === 'string') return byName(info, error.message);
  if (isJsonObject(info)) return byVariant(info, error.message);
  return byMessage(error.message);
};

const said = (different: Partial<ReportedError>): Failure => classify({ ...NO_DETAILS, ...different });

const byName = (info: string, message: string): Failure => {
  switch (info) {
    case 'contextWindowExceeded':
      // codex's own message is for users of its terminal.
      return said({ code: 'context_length_exceeded' });
    case 'usageLimitExceeded':
    case 'sessionBudgetExceeded':
      return said({ code: quotaCode(message), message });
    case 'rateLimitExceeded':
      return said({ code: 'rate_limit_exceeded', message: message.replace(/^rate limit exceeded: /, '') });
    case 'flexUnavailable':
    case 'serverOverloaded':
    case 'policyCapacityUnavailable':
      return said({ code: 'server_is_overloaded', message });
    case 'modelNotFound':
      return said({ code: 'model_not_found', message });
    case 'cyberPolicy':
      return said({ code: 'cyber_policy', message });
    case 'misalignmentPolicyViolation':
      return said({ code: 'misalignment_policy_violation', message });
    case 'inferenceHookDenied':
      return said({ code: 'inference_hook_denied', message });
    case 'unauthorized':
      return said({ status: 401 });
    case 'internalServerError':
      return said({ status: 500 });
    case 'badRequest':
    case 'other':
      return byMessage(message);
    default:
      return failure('server_error');
  }
};

/** codex reports a used-up plan and a plan without access in different words only. */
const quotaCode = (message: string): string =>
  message.startsWith('To use Codex with your ChatGPT plan') ? 'usage_not_included' : 'usage_limit_reached';

/** The variants that carry the upstream's HTTP status, such as `{httpConnectionFailed: {httpStatusCode}}`. */
const byVariant = (info: Readonly<Record<string, unknown>>, message: string): Failure => {
  const [variant, details] = Object.entries(info)[0] ?? ['', null];
  const status = isJsonObject(details) ? details['httpStatusCode'] : null;
  if (typeof status === 'number') return said({ ...readUnexpected(message), status });
  return failure(variant === 'httpConnectionFailed' ? 'upstream_unreachable' : 'upstream_error');
};

/** A 400 of the upstream arrives as its whole JSON body in a string; other errors as a sentence. */
const byMessage = (message: string): Failure => {
  if (message.startsWith('{')) {
    const read = readErrorBody(message);
    return read.message === null ? failure('upstream_error') : said({ ...read, status: 400 });
  }
  const unexpected = readUnexpected(message);
  if (unexpected.status !== null) return said(unexpected);
  const refresh = /^Failed to refresh token: (\d{3})/.exec(message)?.[1];
  if (refresh !== undefined) return said({ code: 'token_refresh_failed', status: Number(refresh) });
  if (/error sending request|connection refused|dns error/i.test(message))
    return unreachable(hostIn(message), null);
  const unfinished = unfinishedAnswer(message);
  if (unfinished !== null) return unfinishedFailure(null, unfinished);
  const failed = said({ message: message.replace(/^stream disconnected before completion: /, '') });
  if (failed.kind !== 'upstream_error') return failed;
  // codex's own messages may reveal internals.
  return OWN_WORDS.test(message) ? failure('upstream_error') : said({ message, status: 400 });
};

/**
 * How codex's own messages begin or end, and its words about the login. Any other sentence is the backend's about
 * the request, whose code codex has dropped (`content_policy_violation`, `bio_policy`, `invalid_prompt`): sending
 * the request again does not help.
 */
const OWN_WORDS = new RegExp(
  [
    String.raw`^$|^(?:stream|error|exceeded retry limit|timeout|request timed out|spawn failed|interrupted)\b`,
    String.raw`^(?:turn aborted|no thread|session configured|internal error|sandbox error|failed to)\b|^codex-`,
    String.raw`^(?:unsupported operation|fatal error|missing environment variable|connection failed)\b`,
    String.raw`\(os error \d+\)|at line \d+ column \d+$`,
    String.raw`\bauth|\blog ?(?:in|out)\b|\bsign[ -]in\b|\bcredential|\brefresh|\baccess token\b|^account\b`,
  ].join('|'),
  'i',
);

/**
 * codex's message for a stream that ended too early, or whose last event it could not read; null for others.
 */
export const unfinishedAnswer = (message: string): string | null => {
  if (/^stream disconnected before completion: (?:stream closed|Transport error)/.test(message))
    return 'ended its answer without response.completed';
  return message.startsWith(UNREAD_END) ? 'sent a response.completed event that could not be read' : null;
};

/** Whether codex failed to read only the usage of an answer. */
export const isUsageUnread = ({ message }: Pick<TurnError, 'message'>): boolean =>
  message.startsWith(UNREAD_END) && !message.includes('`id`');

const UNREAD_END = 'stream disconnected before completion: failed to parse ResponseCompleted: ';

/** `error sending request for url (https://host/path)` */
const hostIn = (message: string): string => hostOf(/\burl \(([^\s)]+)\)/.exec(message)?.[1] ?? '');

const UNEXPECTED = /^unexpected status (\d{3})[^:]*: (.*), url: ([^\s,]+)(?:, [\w -]+: [^\s,]*)*$/s;

/** `unexpected status 404 Not Found: BODY, url: URL, cf-ray: …`, the body whole or only its message. */
const readUnexpected = (message: string): ReportedError => {
  const found = UNEXPECTED.exec(message);
  if (found === null) return NO_DETAILS;
  const [, digits = '', body = '', url = ''] = found;
  const status = Number(digits);
  return {
    ...NO_DETAILS,
    ...readErrorBody(body),
    status,
    host: hostOf(url) || null,
    isBlockPage: isBlockPage(status, body, null),
  };
};
