import { gatewayError } from '../../canonical/failure/failure.ts';
import { isHttps } from '../../http/guards/client-address.ts';
import { consoleError } from './feature.ts';

/** `insecure`: also for browsers on other machines without HTTPS. */
export type ConsoleMode = 'insecure' | 'on';

/** Sent by our own pages with every request. Pages of other origins cannot: we never allow their preflight. */
const OWN_HEADER = 'x-console-request';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/**
 * Whether the console may be used at this address: over HTTPS, or on the browser's own machine. The `Host` header says
 * which name the browser used, so a name that was rebound to this machine is rejected, too.
 */
export const isSafeAddress = (headers: Headers, mode: ConsoleMode): boolean =>
  mode === 'insecure' || isHttps(headers) || LOOPBACK_HOST.test(headers.get('host') ?? '');

/** Why the console is not served at this address, and what to do. */
export const UNSAFE_ADDRESS =
  'The console is not served at this address: without HTTPS, others in the network could read the key and the session. Open it on the machine of the server (http://127.0.0.1), through an SSH tunnel, or through a reverse proxy with HTTPS that sets x-forwarded-proto. The operator can allow plain HTTP with PROXY_CONSOLE=insecure.';

/**
 * Whether a page of this server sent the request. Browsers say so themselves; `Sec-Fetch-Site` is missing in old ones and
 * on plain HTTP, and `Origin` for most GET requests.
 */
export const isOwnPage = (headers: Headers): boolean => {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('origin');
  if (origin !== null) {
    const own = `${isHttps(headers) ? 'https' : 'http'}://${headers.get('host') ?? ''}`;
    return origin.toLowerCase() === own.toLowerCase();
  }
  return headers.get(OWN_HEADER) === '1';
};

/** Throws unless a page of this server sent the request, at a safe address. */
export const requireOwnPage = (headers: Headers, mode: ConsoleMode): void => {
  if (!isSafeAddress(headers, mode)) throw consoleError('console_not_served', { message: UNSAFE_ADDRESS });
  if (isOwnPage(headers)) return;
  throw gatewayError('origin_not_allowed', {
    message: 'The session of the console is only for its own pages.',
  });
};

/** Browsers accept this name only from a secure address, for its whole host, and never from another host. */
const SECURE_NAME = '__Host-codex-console';
/** For `PROXY_CONSOLE=insecure`: browsers refuse a `Secure` cookie over plain HTTP. */
const PLAIN_NAME = 'codex-console';

const TOKEN = /^[\w-]{43}$/;

const isPlain = (headers: Headers, mode: ConsoleMode): boolean => mode === 'insecure' && !isHttps(headers);

/** The session token of a request; null if it has none. */
export const readSessionCookie = (headers: Headers, mode: ConsoleMode): string | null => {
  const name = isPlain(headers, mode) ? PLAIN_NAME : SECURE_NAME;
  for (const part of (headers.get('cookie') ?? '').split(';')) {
    const [key = '', value = ''] = part.trim().split('=', 2);
    if (key === name && TOKEN.test(value)) return value;
  }
  return null;
};

/** Whether it is for the console, or comes with its cookie, valid or not: never for pages of other origins. */
export const isPrivate = ({ url, headers }: Request): boolean =>
  /^\/console(?:\/|$)/.test(new URL(url).pathname) || headers.get('cookie')?.includes(PLAIN_NAME) === true;

/** The header that sets the cookie; without a token it removes it. */
export const sessionCookie = (
  headers: Headers,
  mode: ConsoleMode,
  token: string | null,
  seconds: number,
): string => {
  const plain = isPlain(headers, mode);
  const value = token === null ? '; Max-Age=0' : `${token}; Max-Age=${seconds}`;
  const name = plain ? PLAIN_NAME : SECURE_NAME;
  const secure = plain ? '' : '; Secure';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`;
};
