import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { route, serveRoutes } from '../../../test/support/serve-routes.ts';
import { featureRoutes } from '../../compose/open-features.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Scope } from '../../http/guards/scopes.ts';
import type { Authenticator } from '../../http/guards/authenticate.ts';
import { createConsoleFiles } from './pages.ts';
import { CONSOLE_TABLES } from './feature.ts';
import { isPrivate, type ConsoleMode } from './own-page.ts';
import { acceptSessions, consoleRoutes } from './open.ts';
import { createVolatileMemory, Sessions } from './sessions.ts';
import { SignInLimit } from '../../http/guards/sign-in-limit.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'console-'));
  await mkdir(path.join(folder, 'assets'));
  for (const [name, text] of Object.entries({
    'index.html': '<!doctype html>',
    'index.html.br': 'brotli',
    'assets/a-1.js': 'plain',
    'assets/a-1.js.br': 'brotli',
    'assets/a-1.js.gz': 'gzip',
    'assets/notes.txt': 'not served',
  }))
    await writeFile(path.join(folder, name), text);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const HOST = { host: '127.0.0.1:1' };
const OWN = { ...HOST, origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-origin' };

/** A server with the console and two other routes. */
const serve = (mode: ConsoleMode = 'on', dist = folder) => {
  const clock = { now: () => 1_000_000 };
  const keys = new Map<string, readonly Scope[]>([
    ['sk-admin', ['admin', 'infer']],
    ['sk-read', ['read']],
    ['sk-infer', ['infer']],
  ]);
  const byKey: Authenticator = ({ headers }) => {
    const key = headers.get('authorization')?.slice('Bearer '.length) ?? '';
    const scopes = keys.get(key);
    if (scopes === undefined) throw gatewayError('invalid_api_key');
    return { keyId: `key_${key}`, scopes: new Set(scopes) };
  };
  const sessions = new Sessions({ memory: createVolatileMemory(clock), clock });
  const routes = [
    ...Object.values(
      featureRoutes(
        CONSOLE_TABLES,
        consoleRoutes({
          mode,
          sessions,
          byKey,
          limit: new SignInLimit(clock),
          files: createConsoleFiles(pathToFileURL(`${dist}/`)),
          nameOf: (keyId) => (keyId === 'key_sk-admin' ? 'laptop' : null),
          proxies: { clientAddress: (peer) => peer },
          version: '9.9.9',
        }),
      ),
    ),
    route((_http, exchange) => Response.json(exchange.caller()), { path: '/read', scopes: ['read'] }),
    route((_http, exchange) => Response.json(exchange.caller()), { path: '/infer' }),
  ];
  const { send, log } = serveRoutes(routes, acceptSessions(byKey, sessions, mode), isPrivate);
  const signIn = (key: unknown, headers: Record<string, string> = OWN): Promise<Response> =>
    send('/console/session', { method: 'POST', headers, body: JSON.stringify({ key }) });
  const cookieOf = async (key: string): Promise<string> =>
    (await signIn(key)).headers.get('set-cookie')?.split(';')[0] ?? '';
  return { send, log, signIn, cookieOf, keys };
};

const codeOf = async (answer: Response): Promise<unknown> => {
  const { error } = (await answer.json()) as { error: { code: string } };
  return [answer.status, error.code];
};

describe('signing in', () => {
  it('answers with a cookie that scripts and other sites cannot use', async () => {
    const { signIn, send, log } = serve();
    const answer = await signIn('sk-admin');
    const session = {
      key_id: 'key_sk-admin',
      name: 'laptop',
      scopes: ['admin', 'infer'],
      expires_at: 44_200,
    };
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { object: 'codex.console_session', session, version: '9.9.9' },
    ]);
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^__Host-codex-console=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    const [pair = ''] = cookie.split(';');
    const again = await send('/console/session', { headers: { ...OWN, cookie: `a=b; ${pair}` } });
    expect(await again.json()).toMatchObject({ session });
    expect(log.map(({ keyId }) => keyId)).toEqual(['key_sk-admin', 'key_sk-admin']);
  });

  it('over plain HTTP, where the operator allows it, uses a cookie that browsers keep', async () => {
    const far = { host: '10.0.0.1:1', origin: 'http://10.0.0.1:1' };
    const answer = await serve('insecure').signIn('sk-admin', far);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^codex-console=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(await codeOf(await serve().signIn('sk-admin', far))).toEqual([403, 'console_not_served']);
  });

  it('rejects wrong keys, keys without the scope, bodies without a key, and pages of other origins', async () => {
    const { signIn } = serve();
    const answers = [
      await signIn('sk-wrong'),
      await signIn('sk-infer'),
      await signIn(7),
      await signIn('sk-ümlaut'),
      await signIn('sk-admin', { ...HOST, origin: 'http://127.0.0.1:2', 'sec-fetch-site': 'same-site' }),
      await signIn('sk-admin', HOST),
    ];
    expect(await Promise.all(answers.map(codeOf))).toEqual([
      [401, 'invalid_api_key'],
      [403, 'missing_scope'],
      [400, 'invalid_value'],
      [400, 'invalid_value'],
      [403, 'origin_not_allowed'],
      [403, 'origin_not_allowed'],
    ]);
  });

  it('is limited', async () => {
    const { signIn } = serve();
    for (let count = 0; count < 10; count += 1) expect((await signIn('sk-wrong')).status).toBe(401);
    const answer = await signIn('sk-admin');
    expect(answer.headers.get('retry-after')).toBe('60');
    expect(await codeOf(answer)).toEqual([429, 'sign_in_limit_exceeded']);
  });
});

describe('a session', () => {
  it('may do what its key may do', async () => {
    const { send, cookieOf } = serve();
    const statuses = async (key: string): Promise<unknown> => {
      const headers = { ...OWN, cookie: await cookieOf(key) };
      return [(await send('/read', { headers })).status, (await send('/infer', { headers })).status];
    };
    expect([await statuses('sk-admin'), await statuses('sk-read')]).toEqual([
      [200, 200],
      [200, 403],
    ]);
  });

  it('is refused to pages of other origins, and to a page opened by its address', async () => {
    const { send, cookieOf } = serve();
    const cookie = await cookieOf('sk-admin');
    const codes = [
      { origin: 'http://127.0.0.1:2', 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      {},
    ].map(async (headers) => codeOf(await send('/read', { headers: { ...HOST, ...headers, cookie } })));
    expect(await Promise.all(codes)).toEqual([
      [403, 'origin_not_allowed'],
      [403, 'origin_not_allowed'],
      [403, 'origin_not_allowed'],
    ]);
  });

  it('ends with its key, and when it is closed', async () => {
    const { send, cookieOf, keys } = serve();
    const [one, other] = [await cookieOf('sk-admin'), await cookieOf('sk-read')];
    keys.delete('sk-read');
    const gone = { ...OWN, cookie: other };
    expect(await codeOf(await send('/read', { headers: gone }))).toEqual([401, 'invalid_api_key']);
    expect(await (await send('/console/session', { headers: gone })).json()).toMatchObject({ session: null });
    const out = await send('/console/session', { method: 'DELETE', headers: { ...OWN, cookie: one } });
    expect([await out.json(), out.headers.get('set-cookie')]).toEqual([
      { object: 'codex.console_session', session: null, version: '9.9.9' },
      '__Host-codex-console=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure',
    ]);
    expect(await codeOf(await send('/read', { headers: { ...OWN, cookie: one } }))).toEqual([
      401,
      'invalid_api_key',
    ]);
  });

  it('gives way to a key in a header', async () => {
    const { send, cookieOf } = serve();
    const headers = { ...HOST, cookie: await cookieOf('sk-admin'), authorization: 'Bearer sk-read' };
    expect(await (await send('/read', { headers })).json()).toBe('key_sk-read');
  });
});

describe('answers of the console', () => {
  it('are never shared with other origins', async () => {
    const { send, cookieOf } = serve();
    const page = { ...HOST, origin: 'http://page.test' };
    const answers = [
      await send('/console', { headers: page }),
      await send('/console/session', { headers: page }),
      await send('/read', { headers: { ...page, cookie: await cookieOf('sk-admin') } }),
      await send('/console/session', {
        method: 'OPTIONS',
        headers: { ...page, 'access-control-request-method': 'POST' },
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 403, 405]);
    const shared = answers.flatMap(({ headers }) =>
      [...headers.keys()].filter((name) => name.startsWith('access-')),
    );
    expect(shared).toEqual([]);
    const other = await send('/read', { headers: { ...page, authorization: 'Bearer sk-read' } });
    expect(other.headers.get('access-control-allow-origin')).toBe('http://page.test');
  });

  it('are the document for every page, and files with a hash that browsers keep', async () => {
    const { send } = serve();
    const get = async (at: string, encoding = ''): Promise<unknown> => {
      const answer = await send(at, { headers: { ...HOST, 'accept-encoding': encoding } });
      const { headers } = answer;
      return [
        answer.status,
        headers.get('content-type'),
        headers.get('content-encoding'),
        headers.get('cache-control'),
        await answer.text(),
      ];
    };
    const html = 'text/html; charset=utf-8';
    const js = 'text/javascript; charset=utf-8';
    const forever = 'public, max-age=31536000, immutable';
    expect([
      await get('/console'),
      await get('/console/'),
      await get('/console/requests/req_1', 'gzip, br'),
      await get('/console/assets/a-1.js', 'gzip;q=0.5, br;q=0'),
      await get('/console/assets/a-1.js', 'gzip, br'),
      await get('/console/assets/a-1.js'),
    ]).toEqual([
      [200, html, null, 'no-cache', '<!doctype html>'],
      [200, html, null, 'no-cache', '<!doctype html>'],
      [200, html, 'br', 'no-cache', 'brotli'],
      [200, js, 'gzip', forever, 'gzip'],
      [200, js, 'br', forever, 'brotli'],
      [200, js, null, forever, 'plain'],
    ]);
    const missing = ['assets/none.js', 'assets/notes.txt', 'assets/a-1.js.br', 'assets/%2e%2e/index.html'];
    const statuses = missing.map(async (name) => (await send(`/console/${name}`, { headers: HOST })).status);
    expect(await Promise.all(statuses)).toEqual([404, 404, 404, 200]);
  });

  it('say how to build it, and why it is not served at this address', async () => {
    const absent = await serve('on', path.join(folder, 'nowhere')).send('/console', { headers: HOST });
    expect([absent.status, await absent.text()]).toEqual([
      503,
      expect.stringContaining('npm run console:build'),
    ]);
    const far = await serve().send('/console', { headers: { host: '10.0.0.1:1' } });
    expect([far.status, await far.text()]).toEqual([403, expect.stringContaining('PROXY_CONSOLE=insecure')]);
    for (const { headers } of [absent, far]) {
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; .*frame-ancestors 'none'$/,
      );
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});
