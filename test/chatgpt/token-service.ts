import type { IncomingHttpHeaders } from 'node:http';

import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { accountOf, makeTokens, readAccessToken, readRefreshToken } from './login.ts';
import type { Account, ReadToken, Tokens } from './login.ts';
import { readAssertion, readPersonalToken } from './access-tokens.ts';
import { textOf } from './rule.ts';
import type { RefusedAnswer } from './rule.ts';
import type { Settings } from './settings.ts';

type TokenFault = 'expired' | 'invalidated';

/** Issues tokens, and knows which are valid. */
export class TokenService {
  readonly #settings: () => Settings;
  readonly #usedRefresh = new Set<string>();
  readonly #revoked = new Set<string>();
  /** The fault of every access token, except those in `#goodAgain`. */
  #fault: TokenFault | null = null;
  #goodAgain = new Set<string>();
  #refreshes = 0;

  constructor(settings: () => Settings) {
    this.#settings = settings;
  }

  get refreshes(): number {
    return this.#refreshes;
  }

  /** Invalidates all issued access tokens. Those issued from now on work. */
  spoil(fault: TokenFault): void {
    this.#fault = fault;
    this.#goodAgain = new Set();
  }

  accept(tokens: Tokens): void {
    this.#goodAgain.add(tokens.access_token);
  }

  reset(): void {
    this.#fault = null;
    this.#refreshes = 0;
    this.#usedRefresh.clear();
    this.#revoked.clear();
  }

  /** Null: the credentials are valid. Missing headers are left to the rules. */
  refusal(headers: IncomingHttpHeaders): RefusedAnswer | null {
    const token = tokenIn(headers);
    if (token === '') return null;
    const read = readToken(headers);
    if (read === null || this.#revoked.has(token)) return INVALIDATED;
    if (read.expiresAt * 1000 <= Date.now()) return EXPIRED;
    if (this.#fault !== null && !this.#goodAgain.has(token))
      return this.#fault === 'expired' ? EXPIRED : INVALIDATED;
    const account = headers['chatgpt-account-id'];
    return account === undefined || account === read.accountId ? null : INVALIDATED;
  }

  accountOf(headers: IncomingHttpHeaders): Account {
    return readToken(headers) ?? accountOf({});
  }

  /** `POST /oauth/token`: a refresh token works once. */
  grant(form: JsonObject): { readonly status: number; readonly body: Json } {
    if (form['grant_type'] === 'authorization_code') return { status: 200, body: this.#give(accountOf({})) };
    this.#refreshes += 1;
    const { refresh } = this.#settings();
    const token = textOf(form['refresh_token']);
    const account = readRefreshToken(token);
    if (refresh === 'fails') return { status: 503, body: { error: 'temporarily_unavailable' } };
    if (refresh !== 'ok') return refreshRefused(refresh);
    if (account === null || this.#revoked.has(token)) return refreshRefused('refresh_token_invalidated');
    if (this.#usedRefresh.has(token)) return refreshRefused('refresh_token_reused');
    this.#usedRefresh.add(token);
    return { status: 200, body: this.#give(account) };
  }

  revoke(form: JsonObject): void {
    this.#revoked.add(textOf(form['token']));
  }

  #give(account: Account): Json {
    const tokens = makeTokens(account);
    this.accept(tokens);
    return { ...tokens, token_type: 'Bearer', expires_in: 86_400 };
  }
}

const tokenIn = (headers: IncomingHttpHeaders): string =>
  (headers.authorization ?? '').replace(/^(?:Bearer|AgentAssertion) /, '');

const readToken = (headers: IncomingHttpHeaders): ReadToken | null => {
  const token = tokenIn(headers);
  if (headers.authorization?.startsWith('AgentAssertion ') === true) return readAssertion(token);
  return readPersonalToken(token) ?? readAccessToken(token);
};

const unauthorized = (code: string, message: string): RefusedAnswer => ({
  status: 401,
  body: { error: { message, type: 'invalid_request_error', param: null, code }, status: 401 },
});

const EXPIRED = unauthorized(
  'token_expired',
  'Provided authentication token is expired. Please try signing in again.',
);
const INVALIDATED = unauthorized(
  'token_invalidated',
  'Your authentication token has been invalidated. Please try signing in again.',
);

const refreshRefused = (code: Exclude<Settings['refresh'], 'ok' | 'fails'>): RefusedAnswer =>
  unauthorized(code, `Your refresh token is of no use any more (${code}). Please sign in again.`);
