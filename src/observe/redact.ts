import { hideTokens } from '../kit/text/hide-secrets.ts';

/** Names of fields that hold a secret, compared without case, `-` and `_`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'apikeys',
  'refreshtoken',
  'idtoken',
  'authorizationtoken',
  'agentidentity',
]);
const SECRET_ENDINGS = ['apikey', 'accesstoken', 'privatekey', 'password', 'secret'];

/** Deeper values are cut, which also ends cycles. */
const MAX_DEPTH = 8;

const HIDDEN = '[redacted]';

export const isSecretName = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, '');
  return SECRET_NAMES.has(plain) || SECRET_ENDINGS.some((ending) => plain.endsWith(ending));
};

/** The fields of an error that are logged besides its message. Others may contain anything, such as a whole answer. */
const ERROR_FIELDS: ReadonlySet<string> = new Set([
  'code',
  'errno',
  'syscall',
  'path',
  'address',
  'port',
  'hostname',
  'status',
  'statusCode',
  'signal',
  'exitCode',
  'failure',
  'errors',
]);

const describeError = (error: Error, depth: number): Record<string, unknown> => {
  const fields = Object.entries(error).filter(([name]) => ERROR_FIELDS.has(name));
  const message = wordsOf(error);
  return {
    ...redactObject(Object.fromEntries(fields), depth),
    type: error.name,
    message,
    stack: [`${error.name}: ${message}`, ...framesOf(error)].join('\n'),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, depth + 1) }),
  };
};

const MAX_WORDS = 2_000;

/** A parser quotes its input, which may be a user's content. */
const wordsOf = ({ message }: Error): string =>
  message.slice(0, MAX_WORDS).replace(/^(.{0,60}?), .* is not valid JSON$/s, '$1: this is not valid JSON');

/** The stack without the message. */
const framesOf = ({ stack }: Error): readonly string[] =>
  (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));

const redactValue = (value: unknown, depth: number): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return '[deep]';
  if (value instanceof Error) return describeError(value, depth);
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((entry) => redactValue(entry, depth + 1));
  return redactObject(value, depth);
};

const redactObject = (value: object, depth: number): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).map(([name, inner]: [string, unknown]) => [
      name,
      isSecretName(name) ? HIDDEN : redactValue(inner, depth + 1),
    ]),
  );

/** A copy in which fields with secret names are hidden at any depth, and errors are plain objects. */
export const redactFields = (value: object): Record<string, unknown> =>
  value instanceof Error ? { err: describeError(value, 0) } : redactObject(value, 0);

/** Hides what looks like a key in text, such as a message that quotes a header. */
export const redactText = (text: string): string =>
  hideTokens(text)
    .replaceAll(/\b((?:bearer|agentassertion)\s+)[^\s"'\\,;]+/gi, '$1***')
    .replaceAll(/\bsk-[A-Za-z0-9_-]{6,}/g, 'sk-***')
    // An access token has digits; words joined by hyphens do not.
    .replaceAll(/\bat-(?=[\w-]{0,64}\d)[\w-]{16,}/g, 'at-***')
    .replaceAll(/(https?:\/\/)[^\s/"'\\@]+@/gi, '$1***@')
    // The secret in the URLs of the proxy's loopback servers, which codex quotes.
    .replaceAll(/(\b127\.0\.0\.1:\d{1,5}\/)[\w-]{32}(?=\/)/g, '$1***')
    .replaceAll(/([?&][\w.-]{0,40}(?:key|token|secret|password|signature|sig)=)[^&#\s"'\\]+/gi, '$1***');
