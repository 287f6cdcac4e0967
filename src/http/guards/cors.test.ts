import { describe, expect, it } from 'vitest';

import { createCors } from './cors.ts';

const DEFAULTS = [
  'app://obsidian.md',
  'capacitor://localhost',
  'http://localhost',
  'http://localhost:*',
  'http://127.0.0.1:*',
  'http://[::1]:*',
];

const ask = (headers: Record<string, string>, method = 'OPTIONS'): Request =>
  new Request('http://proxy.test/v1/responses', { method, headers });

describe('origins', () => {
  const cors = createCors(DEFAULTS);

  it.each([
    'app://obsidian.md',
    'capacitor://localhost',
    'http://localhost',
    'http://localhost:5173',
    'http://127.0.0.1',
    'http://127.0.0.1:65535',
    'http://[::1]:8080',
    'http://[::1]',
    'HTTP://LOCALHOST:80',
  ])('%s is allowed', (origin) => {
    expect(cors.isAllowed(origin)).toBe(true);
  });

  it.each([
    null,
    '',
    '*',
    'null',
    'https://localhost:5173',
    'http://localhost.evil.test',
    'http://localhost:80.evil.test',
    'http://evil.test:80',
    'http://127.0.0.1.evil.test:80',
    'http://notlocalhost:80',
    'http://localhost:5173:80',
    'http://localhost:123456',
    'app://obsidian.md:1',
    'http://localhost/',
    'http://localhost, http://evil.test',
  ])('%j is not allowed', (origin) => {
    expect(cors.isAllowed(origin)).toBe(false);
  });

  it('with a star allow every origin including `null`, but add nothing for callers without an origin', () => {
    const open = createCors(['*']);
    expect(['https://any.test', 'null', null].map((origin) => open.isAllowed(origin))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('a preflight', () => {
  const cors = createCors(['http://page.test']);
  const page = { origin: 'http://page.test', 'access-control-request-method': 'POST' };
  const allowedHeaders = (asked: string): string | null | undefined =>
    cors
      .preflight(ask({ ...page, 'access-control-request-headers': asked }))
      ?.headers.get('access-control-allow-headers');

  it('is an OPTIONS request with an origin and a requested method', () => {
    expect(cors.preflight(ask(page))?.status).toBe(204);
    expect(cors.preflight(ask({ origin: 'http://page.test' }))).toBeNull();
    expect(cors.preflight(ask({ 'access-control-request-method': 'POST' }))).toBeNull();
    expect(cors.preflight(ask(page, 'POST'))).toBeNull();
  });

  it('gets the headers it asks for if they are valid names and not too long', () => {
    const copilot = 'authorization,content-type,dangerously-allow-browser,x-stainless-lang';
    const anthropic =
      'anthropic-beta,anthropic-dangerous-direct-browser-access,anthropic-version,content-type,x-api-key';
    const longest = `${'x'.repeat(4_094)},y`;
    const asked = [copilot, anthropic, 'a , b', longest];
    expect(asked.map(allowedHeaders)).toEqual(asked);
    expect([`${longest}y`, 'a b', 'a,,b', 'a:b', ''].map(allowedHeaders)).toEqual([
      null,
      null,
      null,
      null,
      null,
    ]);
  });

  it('of another origin is answered without permission', () => {
    const answer = cors.preflight(
      ask({ ...page, origin: 'http://evil.test', 'access-control-request-private-network': 'true' }),
    );
    expect([answer?.status, [...(answer?.headers.keys() ?? [])]]).toEqual([204, ['vary']]);
  });
});

describe('an answer', () => {
  const cors = createCors(['http://page.test']);
  const share = (origin: string | null, headers: Record<string, string>): Record<string, string> =>
    Object.fromEntries(cors.share(new Response(null, { headers }), origin).headers);

  it('exposes its headers', () => {
    const told = {
      'x-codex-plan-type': 'pro',
      'openai-processing-ms': '1',
      'request-id': 'req_1',
      'retry-after-ms': '2',
      vary: 'accept',
    };
    expect(share('http://page.test', { ...told, 'cache-control': 'no-cache' })).toEqual({
      ...told,
      'cache-control': 'no-cache',
      vary: 'accept, origin',
      'access-control-allow-origin': 'http://page.test',
      'access-control-expose-headers':
        'openai-processing-ms, request-id, retry-after, retry-after-ms, x-codex-plan-type, x-proxy-ignored-params, x-proxy-output-mode, x-proxy-served-model, x-request-id',
    });
    expect(share('http://page.test', {})).toEqual({
      vary: 'origin',
      'access-control-allow-origin': 'http://page.test',
      'access-control-expose-headers':
        'retry-after, x-proxy-ignored-params, x-proxy-output-mode, x-proxy-served-model, x-request-id',
    });
  });

  it('adds nothing for other origins, and is unchanged for callers without an origin', () => {
    expect([share('http://evil.test', { 'x-a': '1' }), share(null, { 'x-a': '1' })]).toEqual([
      { 'x-a': '1', vary: 'origin' },
      { 'x-a': '1', vary: 'origin' },
    ]);
  });
});
