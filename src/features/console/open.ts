import { gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { readJson } from '../../http/body/read-json.ts';
import type { Exchange } from '../../http/exchange/exchange.ts';
import { hasKey, type Authenticator, type Credentials } from '../../http/guards/authenticate.ts';
import type { TrustedProxies } from '../../http/guards/client-address.ts';
import { hasScope, type Caller } from '../../http/guards/scopes.ts';
import { SignInLimit } from '../../http/guards/sign-in-limit.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { VERSION } from '../../version.ts';
import type { CONSOLE_TABLES } from './feature.ts';
import { isPrivate, readSessionCookie, requireOwnPage, sessionCookie, type ConsoleMode } from './own-page.ts';
import { consolePage, createConsoleFiles, type PageDeps } from './pages.ts';
import { createVolatileMemory, SESSION_MS, Sessions } from './sessions.ts';

export interface ConsoleDeps extends PageDeps {
  readonly sessions: Sessions;
  readonly limit: SignInLimit;
  /** Checks keys, not cookies. */
  readonly byKey: Authenticator;
  /** The name of a key; null: it has none. */
  readonly nameOf: (keyId: string) => string | null;
  /** Finds the client of a request that a reverse proxy has forwarded. */
  readonly proxies: TrustedProxies;
  readonly version: string;
}

/** Accepts sessions besides keys. Without a store its sessions end with the process. */
export const openConsole = async (
  { ambient: { clock }, proxies, store }: Core,
  { settings: { console: mode }, offers }: Own<typeof CONSOLE_TABLES>,
): Promise<OpenFeature<typeof CONSOLE_TABLES>> => {
  if (mode === 'off') return { offers: { isPrivate } };
  const { authenticate: byKey, keyName } = offers;
  const sessions = new Sessions({ memory: store?.memory ?? createVolatileMemory(clock), clock });
  return {
    routes: consoleRoutes({
      mode,
      byKey,
      sessions,
      limit: new SignInLimit(clock),
      files: createConsoleFiles(),
      nameOf: keyName,
      proxies,
      version: VERSION,
    }),
    offers: { isPrivate, hasConsole: true, authenticate: acceptSessions(byKey, sessions, mode) },
  };
};

/** A request of the console is authenticated by its session cookie. A key in a header wins. */
export const acceptSessions =
  (byKey: Authenticator, sessions: Sessions, mode: ConsoleMode): Authenticator =>
  async (credentials) => {
    const { headers } = credentials;
    const token = hasKey(headers) ? null : readSessionCookie(headers, mode);
    if (token === null) return byKey(credentials);
    requireOwnPage(headers, mode);
    const session = await sessions.find(token);
    if (session === null) {
      throw gatewayError('invalid_api_key', {
        message: 'The session has ended. Sign in to the console again.',
      });
    }
    return byKey(withKey(credentials, session.key));
  };

/** The same request as if it had been sent with this key. */
const withKey = <T extends { readonly headers: Headers }>(credentials: T, key: string): T => {
  const headers = new Headers(credentials.headers);
  headers.set('authorization', `Bearer ${key}`);
  return { ...credentials, headers };
};

/** The pages of the console and its sessions. They need no key: pages hold no data, and read it with the session. */
export const consoleRoutes = (
  deps: ConsoleDeps,
): NonNullable<OpenFeature<typeof CONSOLE_TABLES>['routes']> => ({
  'GET /console/session': (http, exchange) => currentSession(http, exchange, deps),
  'POST /console/session': (http, exchange) => signIn(http, exchange, deps),
  'DELETE /console/session': (http) => signOut(http, deps),
  'GET /console': (http) => consolePage(http, '', deps),
  'GET /console/:path{.*}': (http, _exchange, { path = '' }) => consolePage(http, path, deps),
});

const MAX_BODY_BYTES = 4_096;

const credentialsOf = ({ method, url, headers }: Request, { address }: Exchange): Credentials => ({
  method,
  url,
  headers,
  address,
});

const signIn = async (http: Request, exchange: Exchange, deps: ConsoleDeps): Promise<Response> => {
  const { mode, sessions, limit, byKey, proxies } = deps;
  requireOwnPage(http.headers, mode);
  const key = keyIn(await readJson(http, { maxBytes: MAX_BODY_BYTES, signal: exchange.signal }));
  const attempt = limit.enter(proxies.clientAddress(exchange.address, http.headers));
  const caller = await byKey(withKey(credentialsOf(http, exchange), key));
  attempt.succeeded();
  exchange.note({ keyId: caller.keyId });
  if (!hasScope(caller, ['read'])) {
    throw gatewayError('missing_scope', {
      message: 'This key cannot open the console. Use a key with the scope admin, or read.',
    });
  }
  const { token, expiresAt } = await sessions.open(key);
  return answer(
    projectSession({ caller, expiresAt }, deps),
    sessionCookie(http.headers, mode, token, SESSION_MS / 1000),
  );
};

/** Not signed in is an answer, not an error: the sign-in page asks. */
const currentSession = async (http: Request, exchange: Exchange, deps: ConsoleDeps): Promise<Response> => {
  const { mode, sessions, byKey } = deps;
  requireOwnPage(http.headers, mode);
  const token = readSessionCookie(http.headers, mode);
  const found = token === null ? null : await sessions.find(token);
  if (found === null) return answer(projectSession(null, deps));
  try {
    const caller = await byKey(withKey(credentialsOf(http, exchange), found.key));
    exchange.note({ keyId: caller.keyId });
    return answer(projectSession({ caller, expiresAt: found.expiresAt }, deps));
  } catch (error) {
    // The key was revoked, or may not be used now: the session cannot either.
    if (!(error instanceof GatewayError) || error.failure.status >= 500) throw error;
    return answer(projectSession(null, deps));
  }
};

const signOut = async (http: Request, deps: ConsoleDeps): Promise<Response> => {
  const { mode, sessions } = deps;
  requireOwnPage(http.headers, mode);
  const token = readSessionCookie(http.headers, mode);
  if (token !== null) await sessions.close(token);
  return answer(projectSession(null, deps), sessionCookie(http.headers, mode, null, 0));
};

const keyIn = (body: unknown): string => {
  const key = isJsonObject(body) ? body['key'] : undefined;
  // A character that no header can hold is in no key.
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key;
  throw gatewayError('invalid_value', { message: "'key' must be an API key of this server.", param: 'key' });
};

interface OpenSession {
  readonly caller: Caller;
  readonly expiresAt: number;
}

const projectSession = (session: OpenSession | null, { nameOf, version }: ConsoleDeps) => ({
  object: 'codex.console_session' as const,
  session:
    session === null
      ? null
      : {
          key_id: session.caller.keyId,
          name: nameOf(session.caller.keyId),
          scopes: [...session.caller.scopes].toSorted(),
          expires_at: Math.floor(session.expiresAt / 1000),
        },
  version,
});

const answer = (body: ReturnType<typeof projectSession>, cookie?: string): Response =>
  Response.json(body, {
    headers: { 'cache-control': 'no-store', ...(cookie === undefined ? {} : { 'set-cookie': cookie }) },
  });
