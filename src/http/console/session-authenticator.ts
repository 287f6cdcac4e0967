import { gatewayError } from '../../canonical/failure/failure.ts';
import { hasKey, type Authenticator } from '../guards/authenticate.ts';
import { requireOwnPage, type ConsoleMode } from './own-page.ts';
import { readSessionCookie } from './session-cookie.ts';
import type { Sessions } from './sessions.ts';

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
export const withKey = <T extends { readonly headers: Headers }>(credentials: T, key: string): T => {
  const headers = new Headers(credentials.headers);
  headers.set('authorization', `Bearer ${key}`);
  return { ...credentials, headers };
};
