import { describe, expect, it } from 'vitest';

import { accessLine, KEY, route, serveRoutes } from '../../test/support/serve-routes.ts';
import { failure } from '../canonical/failure/failure.ts';

describe('a web page', () => {
  const PAGE = { origin: 'http://page.test' };
  const PREFLIGHT = { ...PAGE, 'access-control-request-method': 'GET' };
  const leave = ({ status, headers }: Response): unknown => [
    status,
    headers.get('access-control-allow-origin'),
    headers.get('vary'),
  ];

  it('can read every answer, including authentication, routing and retry errors', async () => {
    const { server, send } = serveRoutes([
      route(() => new Response('ok')),
      route(
        () => {
          throw new TypeError('a bug');
        },
        { path: '/broken' },
      ),
    ]);
    const withKey = { headers: { ...PAGE, ...KEY.headers } };
    const answers = [
      await send('/thing', withKey),
      await send('/thing', { headers: PAGE }),
      await send('/other', { headers: PAGE }),
      await send('/thing', { headers: PAGE, method: 'DELETE' }),
      await send('/broken', withKey),
      server.refuse(failure('malformed_request'), 'http://page.test'),
    ];
    await server.exchanges.drain(1);
    answers.push(await send('/thing', withKey));
    expect(answers.map(leave)).toEqual(
      [200, 401, 404, 405, 500, 400, 503].map((status) => [status, 'http://page.test', 'origin']),
    );
  });

  it('of another origin can read nothing', async () => {
    const { server, send } = serveRoutes([route(() => new Response('ok'))]);
    const evil = { headers: { ...KEY.headers, origin: 'http://evil.test' } };
    const answers = [
      await send('/thing', evil),
      server.refuse(failure('malformed_request'), 'http://evil.test'),
      server.refuse(failure('malformed_request')),
    ];
    expect(answers.map(leave)).toEqual([
      [200, null, 'origin'],
      [400, null, 'origin'],
      [400, null, 'origin'],
    ]);
  });

  it('gets its preflight answered without a key on every path, logged and counted like a request', async () => {
    const { send, log, metrics } = serveRoutes([
      route(() => new Response('no'), { path: '/things/:id{.+}' }),
    ]);
    const ask = (path: string, headers: Record<string, string>): Promise<Response> =>
      send(path, { method: 'OPTIONS', headers });
    const answers = [
      await ask('/things/a/b', PREFLIGHT),
      await ask('/other', PREFLIGHT),
      await ask('/things/a/b', { ...PREFLIGHT, origin: `http://evil.test/${'x'.repeat(200)}` }),
      await ask('/things/a/b', PAGE),
    ];
    const asked =
      'access-control-request-method, access-control-request-headers, access-control-request-private-network, origin';
    expect(answers.map(leave)).toEqual([
      [204, 'http://page.test', asked],
      [204, 'http://page.test', asked],
      [204, null, asked],
      [405, 'http://page.test', 'origin'],
    ]);
    const request = accessLine({ method: 'OPTIONS', route: '/things/:id', status: 204, keyId: null });
    expect(log).toEqual([
      { ...request, requestId: 'req_minted1' },
      { ...request, requestId: 'req_minted2', route: '(unknown)' },
      {
        level: 'warn',
        time: expect.any(String),
        msg: 'request from a web page rejected: its origin is not in PROXY_CORS_ALLOWED_ORIGINS',
        requestId: 'req_minted3',
        origin: `http://evil.test/${'x'.repeat(83)}…`,
      },
      { ...request, requestId: 'req_minted3' },
      { ...request, requestId: 'req_minted4', status: 405, errorCode: 'method_not_allowed' },
    ]);
    expect(await metrics.print()).toMatch(/requests_total\{route="\/things\/:id",status="204"\} 2/);
  });

  it('gets its preflight answered during shutdown; the request that follows gets the error', async () => {
    const { server, send } = serveRoutes([route(() => new Response('ok'))]);
    await server.exchanges.drain(1);
    expect((await send('/thing', { method: 'OPTIONS', headers: PREFLIGHT })).status).toBe(204);
  });
});
