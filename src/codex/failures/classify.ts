import { failure, type Failure } from '../../canonical/failure/failure.ts';
import { safeMessage } from './safe-message.ts';
import { mentionsKeys, withoutKeyWords } from './key-words.ts';

/** An error as reported by the upstream over HTTP, in a stream, or by the app-server. */
export interface ReportedError {
  /** Null if reported within an answer. */
  readonly status: number | null;
  readonly code: string | null;
  readonly type: string | null;
  readonly message: string | null;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  /** When a used-up quota resets: Unix time in seconds, and seconds from now. */
  readonly resetsAt: number | null;
  readonly resetsInSeconds: number | null;
  /** Host and port that reported the error. */
  readonly host: string | null;
  /** Whether a Cloudflare page was returned instead of the upstream's answer. */
  readonly isBlockPage: boolean;
}

export const NO_DETAILS: ReportedError = {
  status: null,
  code: null,
  type: null,
  message: null,
  param: null,
  retryAfterSeconds: null,
  resetsAt: null,
  resetsInSeconds: null,
  host: null,
  isBlockPage: false,
};

/**
 * Translates an upstream error into the failure that the client gets. The first matching rule decides.
 * `secrets` are keys that must be removed should the upstream quote them.
 */
export const classify = (said: ReportedError, secrets: readonly string[] = []): Failure => {
  const message = said.message === null || said.message === '' ? null : safeMessage(said.message, secrets);
  const code = codeFromMessage(said) ?? said.code;
  const param = said.param === null ? null : safeMessage(said.param, secrets);
  const read: SafeError = { ...said, code, message, param, names: [code ?? '', said.type ?? ''] };
  const [, toFailure = ownCode] = RULES.find(([matches]) => matches(read)) ?? [];
  return toFailure(read);
};

/** A reported error with a message that is safe for clients. */
interface SafeError extends ReportedError {
  /** Code and type: upstreams put the same names into either. */
  readonly names: readonly [string, string];
}

type Rule = readonly [matches: (said: SafeError) => boolean, toFailure: (said: SafeError) => Failure];

const named =
  (pattern: RegExp) =>
  ({ names }: SafeError): boolean =>
    names.some((name) => pattern.test(name));
const answered =
  (...statuses: readonly number[]) =>
  ({ status }: SafeError): boolean =>
    status !== null && statuses.includes(status);
const either =
  (...tests: readonly Rule[0][]) =>
  (said: SafeError): boolean =>
    tests.some((test) => test(said));

/** The plan or credit of the account is used up; waiting a moment does not help. */
const QUOTA = /usage_limit|usage_not_included|insufficient_quota|quota_exceeded|billing|credits_/;
const OVERLOAD = /^(?:server_is_overloaded|slow_down|overloaded(?:_error)?)$/;
/** cyber_policy, bio_policy, misalignment_policy_violation, content_policy_violation … */
const POLICY = /^(?:\w+_)?policy(?:_violation)?$|^content_filter$|^inference_hook_denied$/;
const CREDENTIALS =
  /^(?:invalid_api_key|API_KEY_INVALID|token_(?:expired|invalidated|revoked)|refresh_token_\w+)$/;
/** Codes of client errors that arrive within an answer. */
const CLIENT = /^(?:invalid|unsupported|missing|empty|failed_to_download)_|^unknown_parameter$|^image_/;

const RULES: readonly Rule[] = [
  [({ isBlockPage }) => isBlockPage, () => failure('upstream_blocked')],
  [named(/^token_refresh_failed$/), (said) => notRenewed(said)],
  [named(/^deactivated_workspace$/), () => failure('account_unavailable', { message: CLOSED })],
  [either(named(QUOTA), answered(402)), (said) => usedUp(said)],
  [named(OVERLOAD), (said) => failure('upstream_overloaded', { ...messageDetails(said), ...waitOf(said) })],
  [named(/^moderation_blocked$/), (said) => failure('moderation_blocked', messageDetails(said))],
  [named(POLICY), (said) => failure('content_policy_violation', aboutRequest(said))],
  [named(/^codex_outdated$/), (said) => outdated(said)],
  [
    named(/^invalid_encrypted_content$/),
    (said) => failure('invalid_prompt', { ...aboutRequest(said), param: said.param ?? 'input' }),
  ],
  [
    named(/^item_not_found$/),
    (said) => failure('invalid_prompt', { ...messageDetails(said), param: said.param ?? 'input' }),
  ],
  [
    either(named(/^model_not_found$/), ({ status, param }) => status === 404 && param === 'model'),
    (said) => failure('model_not_found', { ...messageDetails(said), param: 'model' }),
  ],
  [
    either(named(/^context_length_exceeded$/), answered(413)),
    (said) => failure('context_length_exceeded', { ...messageDetails(said), param: said.param ?? 'input' }),
  ],
  // Details of our credentials are not shown to clients.
  [either(answered(401), named(CREDENTIALS)), () => failure('upstream_unauthorized')],
  [
    either(answered(429), named(/^rate_limit(?:_exceeded|_error)?$/)),
    (said) => failure('rate_limit_exceeded', { ...messageDetails(said), ...waitOf(said) }),
  ],
  [answered(403), (said) => failure('upstream_forbidden', messageDetails(said))],
  [
    ({ status, param }) => status === 404 && param !== null,
    (said) => failure('invalid_prompt', aboutRequest(said)),
  ],
  [answered(404, 405), (said) => noSuchPath(said)],
  [answered(408, 504, 524), (said) => timeoutFailure(said.host)],
  [answered(503, 529), (said) => failure('upstream_overloaded', waitOf(said))],
  [({ status }) => status !== null && status >= 500, (said) => broken(said)],
  [
    either(({ status }) => status !== null && status >= 400, named(CLIENT)),
    (said) => failure('invalid_prompt', aboutRequest(said)),
  ],
];

type Details = NonNullable<Parameters<typeof failure>[1]>;

/** Omits the upstream's message if it is about our credentials. */
const messageDetails = ({ message }: SafeError): Details =>
  message === null || mentionsKeys(message) ? {} : { message };

const codeOf = ({ code }: SafeError): Details => (code === null || mentionsKeys(code) ? {} : { code });

/** Errors about the client's own request are shown in full. */
const aboutRequest = (said: SafeError): Details => ({
  ...(said.message === null ? {} : { message: withoutKeyWords(said.message) }),
  ...codeOf(said),
  param: said.param,
});

const waitOf = ({ retryAfterSeconds, message }: SafeError): Details => {
  if (retryAfterSeconds !== null) return { retryAfterSeconds };
  const said = /try again in (\d+(?:\.\d+)?) ?(ms|s)/i.exec(message ?? '');
  return said === null
    ? {}
    : { retryAfterSeconds: Math.ceil(Number(said[1]) / (said[2] === 'ms' ? 1000 : 1)) };
};

/** Names who refused, until when, and the upstream's message. */
const usedUp = (said: SafeError): Failure => {
  const { resetsAt, resetsInSeconds } = said;
  const what = said.names.includes('usage_not_included')
    ? 'the plan of the account that this server uses does not include this'
    : 'the account that this server uses has reached its limit';
  const until = resetsAt === null ? null : utc(resetsAt);
  const words = messageDetails(said).message;
  return failure('insufficient_quota', {
    message: [
      `The backend refused: ${what}${until === null ? '' : `, until ${until}`}.`,
      ...(words === undefined ? [] : [`It said: ${words}`]),
    ].join(' '),
    ...(resetsInSeconds === null
      ? waitOf(said)
      : { retryAfterSeconds: Math.max(0, Math.ceil(resetsInSeconds)) }),
  });
};

/** The model is there for a newer codex: neither the caller nor a retry can help. */
const outdated = (said: SafeError): Failure => {
  const words = messageDetails(said).message;
  return failure('codex_incompatible', {
    message: [
      'The backend requires a newer codex than this server has: its operator has to update it.',
      ...(words === undefined ? [] : [`It said: ${words}`]),
    ].join(' '),
  });
};

/** `2026-11-20 14:00 UTC`; null if the number is not a valid time. */
const utc = (seconds: number): string | null => {
  const at = new Date(seconds * 1000);
  return Number.isNaN(at.getTime()) ? null : `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
};

const CLOSED = 'The account that this server uses is unavailable: its workspace is closed.';

/** The token service failed; the login itself is probably fine. */
const notRenewed = ({ status, isBlockPage }: SafeError): Failure => {
  if (isBlockPage) return failure('upstream_blocked');
  if (status === 400 || status === 401) return failure('upstream_unauthorized');
  return failure('upstream_error', {
    message: `The login of this server could not be renewed: the sign-in service answered ${status ?? 'nothing'}. Please try again later.`,
  });
};

const at = (host: string | null): string => (host === null ? 'The upstream' : `The upstream at ${host}`);

const noSuchPath = ({ host, status }: SafeError): Failure =>
  failure('upstream_error', {
    message: `${at(host)} does not have this path (it answered ${status ?? 404}). On the server, check PROXY_UPSTREAM_BASE_URL.`,
  });

export const timeoutFailure = (host: string | null): Failure =>
  failure('upstream_timeout', { message: `${at(host)} did not answer in time.` });

/** Nothing arrived for this long. */
export const idleFailure = (host: string | null, ms: number): Failure =>
  failure('upstream_timeout', { message: `${at(host)} sent nothing for ${ms / 1000} s.` });

/** The answer had no output after this long, twice. */
export const lateFailure = (host: string | null, ms: number): Failure =>
  failure('upstream_timeout', {
    message: `${at(host)} did not begin its answer within ${Math.round(ms / 1000)} s. Please try again.`,
  });

/** A single event exceeds the size limit. */
export const oversizedFailure = (host: string | null): Failure =>
  failure('upstream_error', { message: `${at(host)} sent an event that is too long.` });

/** The stream ended too early; `how` is a verb phrase. */
export const unfinishedFailure = (host: string | null, how: string): Failure =>
  failure('upstream_error', { message: `${at(host)} ${how}.` });

/** The message may reveal internals, so it is not shown. */
const broken = (said: SafeError): Failure =>
  failure('upstream_error', {
    message: `${at(said.host)} had an error while processing the request (it answered ${said.status ?? 500}).`,
    ...waitOf({ ...said, message: null }),
  });

/** An unknown error in the middle of an answer. */
const ownCode = (said: SafeError): Failure => {
  const isPlain = said.code === 'server_error';
  return failure('upstream_error', { ...messageDetails(said), ...(isPlain ? {} : codeOf(said)) });
};

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
const codeFromMessage = ({ status, type, code, message }: ReportedError): string | null => {
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
