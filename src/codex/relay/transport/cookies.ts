import { parseCookie } from 'undici';
import type { Clock } from '../../../kit/ambient.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';
import type { Headers } from '../../end-to-end-headers.ts';

/** More than Cloudflare and its customers set. */
const MAX_COOKIES = 50;
const MAX_COOKIE_BYTES = 4_096;
const MAX_HEADER_BYTES = 16_384;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** Null: until the process ends. */
  readonly expiresAtMs: number | null;
}

/**
 * The cookies of one host, in memory, like a browser's. Cloudflare recognises admitted clients by them; the
 * app-server's own cookie jar does not help, because it connects to us.
 */
export class CookieJar {
  readonly #origin: string;
  readonly #clock: Clock;
  /** By path and name: the same name may have a value for each of two paths. */
  readonly #kept = new Map<string, Cookie>();

  constructor(url: string, clock: Clock) {
    this.#origin = new URL(url).origin;
    this.#clock = clock;
  }

  isFor(url: string): boolean {
    return URL.parse(url)?.origin === this.#origin;
  }

  /** Stores the cookies that a response from this URL sets. */
  keep(url: string, setCookie: string | readonly string[] | undefined): void {
    if (setCookie === undefined || !this.isFor(url)) return;
    for (const line of typeof setCookie === 'string' ? [setCookie] : setCookie) this.#keepOne(line);
  }

  /** The `cookie` header for a request to this URL; null without cookies. */
  headerFor(url: string): string | null {
    if (!this.isFor(url)) return null;
    const { pathname } = new URL(url);
    const now = this.#clock.now();
    for (const [key, { expiresAtMs }] of this.#kept) {
      if (expiresAtMs !== null && expiresAtMs <= now) this.#kept.delete(key);
    }
    const pairs: string[] = [];
    let bytes = 0;
    // RFC 6265: longer paths first, so that a server that reads one value reads the closest.
    const kept = [...this.#kept.values()].toSorted((a, b) => b.path.length - a.path.length);
    for (const { name, value, path } of kept) {
      if (!isBelow(pathname, path) || bytes + name.length + value.length > MAX_HEADER_BYTES) continue;
      pairs.push(`${name}=${value}`);
      bytes += name.length + value.length + 3;
    }
    return pairs.length === 0 ? null : pairs.join('; ');
  }

  /** The headers with the cookies for this URL. */
  added(headers: Headers, url: string): Headers {
    const own = this.headerFor(url);
    return own === null ? headers : { ...headers, cookie: [headers['cookie'] ?? [], own].flat().join('; ') };
  }

  #keepOne(line: string): void {
    if (line.length > MAX_COOKIE_BYTES) return;
    const cookie = parseCookie(line);
    // Values that are invalid in a header would be rejected when sent.
    if (cookie === null || cookie.name === '' || !/^[\x21-\x7e]*$/.test(cookie.name + cookie.value)) return;
    const { name, value, maxAge, expires } = cookie;
    const path = cookie.path?.startsWith('/') === true ? cookie.path : '/';
    const key = `${path};${name}`;
    const now = this.#clock.now();
    const until = maxAge === undefined ? expires : now + maxAge * 1000;
    const expiresAtMs = until === undefined ? null : Number(until);
    // Newest last, so that the oldest are removed first.
    this.#kept.delete(key);
    if (expiresAtMs !== null && expiresAtMs <= now) return;
    this.#kept.set(key, { name, value, path, expiresAtMs });
    forgetOldest(this.#kept, MAX_COOKIES);
  }
}

const isBelow = (pathname: string, path: string): boolean =>
  pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
