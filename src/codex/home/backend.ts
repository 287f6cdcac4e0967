/** Where the app-server sends its model requests. */
export type Backend =
  /** Any provider with a Responses API. Its key travels in this environment variable, never in a file. */
  | { readonly kind: 'upstream'; readonly baseUrl: string; readonly apiKeyEnv: string | null }
  /** The Codex login. An address that is null is codex's own default. */
  | {
      readonly kind: 'login';
      readonly login: Login;
      readonly baseUrl: string | null;
      readonly chatgptBaseUrl: string | null;
      readonly refreshUrl: string | null;
      readonly revokeUrl: string | null;
    }
  | { readonly kind: 'demo'; readonly baseUrl: string }
  | { readonly kind: 'none' };

export type Login = 'chatgpt' | 'api-key';
