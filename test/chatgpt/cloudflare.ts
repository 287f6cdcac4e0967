import type { IncomingHttpHeaders } from 'node:http';

/** A Cloudflare page instead of the answer. */
export interface CloudflareSwitch {
  readonly on: 'responses' | 'token' | 'both';
  /** Whether clients that send the page's cookie back are let through. */
  readonly passesWithCookie?: boolean;
  readonly times?: number;
}

const CLOUDFLARE_COOKIE = '__cf_bm=made-up-clearance';

export const CLOUDFLARE_HEADERS = {
  'content-type': 'text/html; charset=UTF-8',
  'cf-mitigated': 'challenge',
  'cf-ray': '8f0000000000made-UP',
  server: 'cloudflare',
  'set-cookie': `${CLOUDFLARE_COOKIE}; path=/; HttpOnly; SameSite=None`,
};

export const CLOUDFLARE_PAGE =
  '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body><noscript>Enable JavaScript and cookies to continue</noscript></body></html>';

/** Who is blocked. */
export class Cloudflare {
  #page: CloudflareSwitch | null = null;
  #left = 0;

  use(page: CloudflareSwitch | null): void {
    this.#page = page;
    this.#left = page?.times ?? Infinity;
  }

  blocks(on: 'responses' | 'token', headers: IncomingHttpHeaders): boolean {
    if (!this.wouldBlock(on, headers)) return false;
    this.#left -= 1;
    return true;
  }

  /** Without counting it. */
  wouldBlock(on: 'responses' | 'token', headers: IncomingHttpHeaders): boolean {
    const page = this.#page;
    if (page === null || (page.on !== on && page.on !== 'both') || this.#left === 0) return false;
    return page.passesWithCookie !== true || !(headers.cookie ?? '').includes(CLOUDFLARE_COOKIE);
  }
}
