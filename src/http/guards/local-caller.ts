import type { PeerPlace } from '../exchange/connection-info.ts';

/** Headers of a request that was forwarded. */
const FORWARDED = [
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
];
/** Headers of a request that a web page sends. */
const FROM_PAGE = ['origin', 'referer'];
/** Set by browsers for requests of another site, even without an origin. */
const FETCH_SITE = 'sec-fetch-site';

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
const LOOPBACK_ADDRESS = /^(?:::ffff:)?127(?:\.\d{1,3}){3}$|^::1$/i;

export const isLoopbackAddress = (address: string): boolean => LOOPBACK_ADDRESS.test(address);

/**
 * Whether a program on this machine sends the request, or a page of this server in a browser on this machine. A local
 * reverse proxy makes every connection local, and DNS rebinding lets a page reach this machine under its own host name: so
 * `host` must name this machine. A tunnel cannot be recognised.
 */
export const isOnThisMachine = (headers: Headers, peer: PeerPlace | undefined): boolean => {
  if (peer?.isFromLoopback !== true) return false;
  return namesThisMachine(headers) && !isForwarded(headers);
};

const namesThisMachine = (headers: Headers): boolean => LOOPBACK_HOST.test(headers.get('host') ?? '');

const isForwarded = (headers: Headers): boolean =>
  FORWARDED.some((name) => headers.has(name)) ||
  [...headers.keys()].some((name) => name.startsWith('x-forwarded-'));

const isFromPage = (headers: Headers): boolean =>
  (headers.get(FETCH_SITE) ?? 'none') !== 'none' || FROM_PAGE.some((name) => headers.has(name));

/** Whether a program on this machine sends the request for itself, and not for a web page. */
export const isLocalCaller = (headers: Headers, peer: PeerPlace | undefined): boolean =>
  isOnThisMachine(headers, peer) && !isFromPage(headers);

/**
 * The address at which a program on this machine, at any of its addresses, reached this server; null for all others. The
 * program names this machine as `host`, whatever the address: a page in a browser cannot choose that.
 */
export const reachedAt = (headers: Headers, peer: PeerPlace | undefined): string | null =>
  !namesThisMachine(headers) || isForwarded(headers) || isFromPage(headers)
    ? null
    : (peer?.localAddress ?? null);
