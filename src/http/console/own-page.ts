import { gatewayError } from '../../canonical/failure/failure.ts';

/** `insecure`: also for browsers on other machines without HTTPS. */
export type ConsoleMode = 'insecure' | 'on';

/** Sent by our own pages with every request. Pages of other origins cannot: we never allow their preflight. */
const OWN_HEADER = 'x-console-request';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Whether a reverse proxy says that the browser uses HTTPS. */
export const isHttps = (headers: Headers): boolean => {
  const [first = ''] = (headers.get('x-forwarded-proto') ?? '').split(',');
  if (first.trim().toLowerCase() === 'https') return true;
  return /^[^,]*\bproto="?https"?(?:[;,\s]|$)/i.test(headers.get('forwarded') ?? '');
};

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
  if (!isSafeAddress(headers, mode)) throw gatewayError('console_not_served', { message: UNSAFE_ADDRESS });
  if (isOwnPage(headers)) return;
  throw gatewayError('origin_not_allowed', {
    message: 'The session of the console is only for its own pages.',
  });
};
