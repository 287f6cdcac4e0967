import { expect, it } from 'vitest';

import { describedRoutes, listRoutes } from '../../scripts/pages/http-api.ts';

/** All routes and their access. Changing a route to `open` or `local` is a security decision. */
it('serves the described routes with the described access, in this order', () => {
  const served = listRoutes().map(({ method, path, access }) => `${access} ${method} ${path}`);
  expect(served).toEqual(describedRoutes());
  expect(served.filter((route) => !route.startsWith('key '))).toEqual([
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
