import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { accessTokenIn, type AccessToken, type AccessTokenKind } from '../home/access-token.ts';
import type { Login } from '../home/backend.ts';

/** Facts about a login that may be shown: never a token, and only a masked email address. */
export interface LoginFacts {
  readonly kind: Login;
  /** Null: the login is another one. */
  readonly accessToken: AccessTokenKind | null;
  /** The account or workspace; null for an API key or a personal access token. */
  readonly accountId: string | null;
  readonly plan: string | null;
  /** `a***@example.com` */
  readonly account: string | null;
  /** When the access token expires. codex refreshes it if `canRefresh`. */
  readonly expiresAt: Date | null;
  readonly canRefresh: boolean;
  /** When the subscription ends, according to the login. */
  readonly paidUntil: Date | null;
}

/** The banner and the doctor warn this long before an access token expires: it has to be replaced by hand. */
export const TOKEN_ENDS_SOON_MS = 7 * 24 * 3_600_000;

/** Reads an `auth.json`; null if it contains nothing that codex could use. */
export const readLogin = (text: string): LoginFacts | null => {
  const auth = parseJsonObject(text);
  if (auth === null) return null;
  const accessToken = accessTokenIn(text);
  if (accessToken !== null) return factsOf(accessToken);
  const tokens = objectIn(auth, 'tokens');
  const access = tokens === null ? null : textIn(tokens, 'access_token');
  if (tokens === null || access === null) {
    return textIn(auth, 'OPENAI_API_KEY') === null
      ? null
      : { ...UNKNOWN, kind: 'api-key', accessToken: null };
  }
  const identity = claimsOf(textIn(tokens, 'id_token') ?? '');
  const claims = claimsOf(access);
  const about = { ...objectIn(claims, AUTH_CLAIMS), ...objectIn(identity, AUTH_CLAIMS) };
  const address = textIn(identity, 'email') ?? textIn(objectIn(claims, PROFILE_CLAIMS) ?? {}, 'email');
  return {
    kind: 'chatgpt',
    accessToken: null,
    accountId: textIn(tokens, 'account_id') ?? textIn(about, 'chatgpt_account_id'),
    plan: textIn(about, 'chatgpt_plan_type'),
    account: address === null ? null : masked(address),
    expiresAt: secondsIn(claims, 'exp'),
    canRefresh: textIn(tokens, 'refresh_token') !== null,
    paidUntil: dateIn(about, 'chatgpt_subscription_active_until'),
  };
};

const UNKNOWN = {
  accountId: null,
  plan: null,
  account: null,
  expiresAt: null,
  canRefresh: false,
  paidUntil: null,
} as const;

/** Null for an agent token that codex could not read. */
const factsOf = ({ kind, token }: AccessToken): LoginFacts | null => {
  const known = { ...UNKNOWN, kind: 'chatgpt', accessToken: kind } as const;
  if (kind === 'personal') return known;
  const claims = typeof token === 'string' ? claimsOf(token) : token;
  const accountId = textIn(claims, 'account_id');
  const address = textIn(claims, 'email');
  if (accountId === null) return null;
  return {
    ...known,
    accountId,
    plan: textIn(claims, 'plan_type'),
    account: address === null ? null : masked(address),
    expiresAt: secondsIn(claims, 'exp'),
  };
};

const AUTH_CLAIMS = 'https://api.openai.com/auth';
const PROFILE_CLAIMS = 'https://api.openai.com/profile';

/** Decodes the claims of a token. The signature is not verified: the claims are only shown to their owner. */
const claimsOf = (token: string): JsonObject =>
  parseJsonObject(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) ?? {};

export const masked = (address: string): string => address.replace(/^(.)[^@]*/u, '$1***');

const objectIn = (object: JsonObject, key: string): JsonObject | null => {
  const value = object[key];
  return isJsonObject(value) ? value : null;
};

const textIn = (object: JsonObject, key: string): string | null => {
  const value = object[key];
  return typeof value === 'string' && value !== '' ? value : null;
};

const secondsIn = (object: JsonObject, key: string): Date | null => {
  const value = object[key];
  return typeof value === 'number' ? validDate(value * 1000) : null;
};

const dateIn = (object: JsonObject, key: string): Date | null => {
  const text = textIn(object, key);
  return text === null ? null : validDate(text);
};

const validDate = (value: number | string): Date | null => {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
};
