import { expect, it } from 'vitest';

import { describedRoutes, listRoutes } from '../../scripts/pages/http-api.ts';

/** All routes and their access. Changing a route to `open` or `local` is a security decision. */
it('serves the described routes with the described access, in this order', () => {
  const served = listRoutes().map(({ method, path, access }) => `${access} ${method} ${path}`);
  expect(
    served,
    'The routes are pinned by PURPOSES in scripts/pages/http-api.ts: describe a new route there, in the order of the routes.',
  ).toEqual(describedRoutes());
  const open = served.filter((route) => !route.startsWith('key '));
  expect(
    open,
    'Routes without a key are pinned. Give the route access `key`, or add it here and to docs/security.md.',
  ).toEqual([
    'open GET /v1/codex/key-proof',
    'open GET /',
    'open GET /docs/{page}',
    'open GET /console/session',
    'open POST /console/session',
    'open DELETE /console/session',
    'open GET /console',
    'open GET /console/{path}',
    'open GET /healthz',
    'open GET /readyz',
    'local GET /metrics',
  ]);
});

/** Other routes below /v1/codex need `read` or `admin`: what a client's key may see is a security decision too. */
it('lets a key with only infer use few routes of the server itself', () => {
  const own = listRoutes().filter(({ path }) => path.startsWith('/v1/codex/'));
  expect(own.filter(({ scopes }) => scopes.includes('infer')).map(({ path }) => path)).toEqual([
    '/v1/codex/reviews',
    '/v1/codex/models',
    '/v1/codex/rate-limits',
    // Each for the workspaces of the key.
    '/v1/codex/workspaces',
    '/v1/codex/workspaces/{name}/exec',
    '/v1/codex/workspaces/{name}/files',
    '/v1/codex/clients',
  ]);
  const changing = own.filter(({ method, scopes }) => method !== 'GET' && !scopes.includes('infer'));
  expect(
    changing.filter(({ scopes }) => scopes.join() !== 'admin'),
    'Routes that change the server need the scope admin.',
  ).toEqual([]);
  expect(listRoutes().find(({ path }) => path === '/metrics')?.scopes).toEqual(['read']);
});
