import type { ConnectionInfo } from '../exchange/connection-info.ts';

/** Headers that say that a request was passed on, or that a page in a browser sends it. */
const FROM_ELSEWHERE = [
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'x-original-host',
  'cf-connecting-ip',
  'true-client-ip',
  'fly-client-ip',
  'origin',
  'referer',
];
/** What a browser says of a request that a page of another site sends, also where it has no origin. */
const FETCH_SITE = 'sec-fetch-site';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
const LOOPBACK_ADDRESS = /^(?:::ffff:)?127(?:\.\d{1,3}){3}$|^::1$/i;

export const isLoopbackAddress = (address: string): boolean => LOOPBACK_ADDRESS.test(address);

/**
 * Whether a program on this machine sends the request for itself. A reverse proxy on this machine makes every
 * connection local, and DNS rebinding lets a page reach this machine under its own host name: so `host` must be
 * a name of this machine.
 */
export const isLocalCaller = (
  headers: Headers,
  connectionInfo: Pick<ConnectionInfo, 'isFromLoopback'> | undefined,
): boolean => {
  if (connectionInfo?.isFromLoopback !== true) return false;
  if (!LOOPBACK_HOST.test(headers.get('host') ?? '')) return false;
  if ((headers.get(FETCH_SITE) ?? 'none') !== 'none') return false;
  if (FROM_ELSEWHERE.some((name) => headers.has(name))) return false;
  return ![...headers.keys()].some((name) => name.startsWith('x-forwarded-'));
};
