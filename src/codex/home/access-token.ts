import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';

/**
 * An access token of a ChatGPT workspace: a login without a browser that cannot be renewed.
 *
 * `personal`: an opaque text, `at-…`. codex asks its issuer at every start whose it is. `agent`: a JSON web
 * token with a private key, with which codex signs every request.
 */
export type AccessTokenKind = 'personal' | 'agent';

export type AccessToken =
  | { readonly kind: 'personal'; readonly token: string }
  /** A token, or its claims: codex accepts both in its `auth.json`. */
  | { readonly kind: 'agent'; readonly token: string | JsonObject };

/** The environment variable that codex reads. It takes precedence over any `auth.json`. */
export const ACCESS_TOKEN_ENV = 'CODEX_ACCESS_TOKEN';

/** Where the issuer says whose a personal access token is. */
export const WHOAMI_PATH = '/v1/user-auth-credential/whoami';

const PERSONAL_PREFIX = 'at-';

/** The same decision as codex's. */
export const accessTokenKind = (token: string): AccessTokenKind =>
  token.startsWith(PERSONAL_PREFIX) ? 'personal' : 'agent';

/** The `auth.json` that `codex login --with-access-token` writes. */
export const authOf = (token: string): string =>
  JSON.stringify(
    accessTokenKind(token) === 'personal'
      ? { OPENAI_API_KEY: null, personal_access_token: token }
      : { auth_mode: 'agentIdentity', OPENAI_API_KEY: null, agent_identity: token },
  );

/** The access token that codex would use of an `auth.json`; null: it would use something else. */
export const accessTokenIn = (text: string): AccessToken | null => {
  const auth = parseJsonObject(text) ?? {};
  const mode = auth['auth_mode'] ?? null;
  const { personal_access_token: personal, agent_identity: agent } = auth;
  // codex writes no mode for these, so that older versions can read the file.
  if (isFilled(personal) && (mode === null || mode === 'personalAccessToken'))
    return { kind: 'personal', token: personal };
  if (mode === 'agentIdentity' && (isFilled(agent) || isJsonObject(agent)))
    return { kind: 'agent', token: agent };
  return null;
};

const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';
