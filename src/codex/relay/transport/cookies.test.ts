import { describe, expect, it } from 'vitest';

import { CookieJar } from './cookies.ts';

const URL_OF_HOST = 'https://chatgpt.com/backend-api/codex/responses';
let now = Date.parse('2026-11-20T10:00:00Z');
const jarWith = (...lines: readonly string[]): CookieJar => {
  const jar = new CookieJar('https://chatgpt.com/backend-api', { now: () => now });
  jar.keep(URL_OF_HOST, lines);
  return jar;
};

describe('cookies', () => {
  it('go back to the host that set them', () => {
    const jar = jarWith(
      '__cf_bm=a.b-c; path=/; expires=Fri, 20-Nov-26 10:30:00 GMT; domain=.chatgpt.com; HttpOnly; Secure',
      '_cfuvid=1; Max-Age=60',
    );
    jar.keep(URL_OF_HOST, '__cflb=x');
    jar.keep(URL_OF_HOST, undefined);
    expect(jar.headerFor(URL_OF_HOST)).toBe('__cf_bm=a.b-c; _cfuvid=1; __cflb=x');
  });

  it('are neither sent to nor accepted from other hosts', () => {
    const jar = jarWith('a=1');
    for (const other of [
      'http://chatgpt.com/x',
      'https://chatgpt.com:8443/x',
      'https://evil.chatgpt.com/x',
      'https://auth.openai.com/oauth/token',
      'nowhere',
    ]) {
      jar.keep(other, 'b=2');
      expect([other, jar.isFor(other), jar.headerFor(other)]).toEqual([other, false, null]);
    }
    expect(jar.headerFor(URL_OF_HOST)).toBe('a=1');
  });

  it('end when they expire or are removed', () => {
    const jar = jarWith('a=1; Max-Age=60', 'b=2; Expires=Fri, 20 Nov 2026 11:00:00 GMT', 'c=3');
    now += 61_000;
    expect(jar.headerFor(URL_OF_HOST)).toBe('b=2; c=3');
    jar.keep(URL_OF_HOST, ['c=; Max-Age=0', 'b=4; Expires=Thu, 01 Jan 1970 00:00:00 GMT']);
    expect(jar.headerFor(URL_OF_HOST)).toBeNull();
  });

  it('are replaced by path and name, and stay below their path', () => {
    const jar = jarWith('a=0', 'b=2', 'a=1', 'a=3; path=/backend-api', 'c=4; path=/back', 'd=5; path=odd');
    expect(jar.headerFor(URL_OF_HOST)).toBe('a=3; b=2; a=1; d=5');
    expect(jar.headerFor('https://chatgpt.com/elsewhere')).toBe('b=2; a=1; d=5');
    jar.keep(URL_OF_HOST, 'a=; path=/backend-api; Max-Age=0');
    expect(jar.headerFor(URL_OF_HOST)).toBe('b=2; a=1; d=5');
  });

  it('are limited in number and size', () => {
    const jar = jarWith(
      ...Array.from({ length: 60 }, (_, index) => `c${index}=v`),
      `big=${'x'.repeat(5_000)}`,
    );
    const names = (jar.headerFor(URL_OF_HOST) ?? '').split('; ');
    expect([names.length, names[0], names.at(-1)]).toEqual([50, 'c10=v', 'c59=v']);
    const large = jarWith(...Array.from({ length: 10 }, (_, index) => `c${index}=${'x'.repeat(4_000)}`));
    expect((large.headerFor(URL_OF_HOST) ?? '').length).toBeLessThanOrEqual(16_384);
  });

  it('that are invalid are ignored', () => {
    expect(jarWith('', '=', '=x', 'a=é', 'b=\u0007', ';').headerFor(URL_OF_HOST)).toBeNull();
  });
});
