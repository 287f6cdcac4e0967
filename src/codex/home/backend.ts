import { assertNever } from '../../kit/assert-never.ts';
import type { AccessTokenKind } from './access-token.ts';

/** Where the app-server sends its model requests. */
export type BackendTarget =
  /** Any provider with a Responses API. Its key is passed in this environment variable, never in a file. */
  | { readonly kind: 'upstream'; readonly baseUrl: string; readonly apiKeyEnv: string | null }
  | LoginBackend
  | { readonly kind: 'demo'; readonly baseUrl: string }
  | { readonly kind: 'none' };

/** The Codex login. A null URL means codex's default. */
export interface LoginBackend {
  readonly kind: 'login';
  readonly login: Login;
  /** Distinguishes the account from others. */
  readonly account: string;
  /** Null: the login has tokens that codex renews, or an API key. */
  readonly accessToken: AccessTokenKind | null;
  readonly baseUrl: string | null;
  /** Account requests: identity, settings, limits. */
  readonly chatgptBaseUrl: string | null;
  readonly refreshUrl: string | null;
  readonly revokeUrl: string | null;
  /** Where an access token is checked. */
  readonly authApiUrl: string | null;
}

export type Login = 'chatgpt' | 'api-key';

/** A login whose requests all go to codex's default URLs. */
export const directLogin = (
  login: Login,
  accessToken: AccessTokenKind | null = null,
  account = '',
): LoginBackend => ({
  kind: 'login',
  login,
  account,
  accessToken,
  baseUrl: null,
  chatgptBaseUrl: null,
  refreshUrl: null,
  revokeUrl: null,
  authApiUrl: null,
});

/**
 * Whether everything that the app-server sends goes to this machine over http, so that it needs no
 * certificates. API keys are never refreshed and have no account requests (as of 0.166.0), so they send only
 * model requests.
 */
export const staysOnLoopback = (backend: BackendTarget): boolean => {
  switch (backend.kind) {
    case 'upstream':
    case 'demo':
      return isLoopback(backend.baseUrl);
    case 'login':
      return urlsOf(backend).every(isLoopback);
    case 'none':
      return false;
    default:
      return assertNever(backend);
  }
};

const urlsOf = (backend: LoginBackend): readonly (string | null)[] => {
  if (backend.login === 'api-key') return [backend.baseUrl];
  const { baseUrl, chatgptBaseUrl, refreshUrl, revokeUrl, authApiUrl } = backend;
  const urls = [baseUrl, chatgptBaseUrl, refreshUrl, revokeUrl];
  return backend.accessToken === null ? urls : [...urls, authApiUrl];
};

const isLoopback = (url: string | null): boolean => {
  if (url === null || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return (
    protocol === 'http:' &&
    (hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname))
  );
};
