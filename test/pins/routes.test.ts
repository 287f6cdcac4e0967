import { expect, it } from 'vitest';

import { listRoutes } from '../../scripts/pages/http-api.ts';

/** All routes and their access. Changing a route to `open` or `local` is a security decision. */
it('serves these routes with this access', () => {
  expect(listRoutes().map(({ method, path, access }) => `${access} ${method} ${path}`)).toEqual([
    'key POST /v1/responses',
    'key POST /v1/responses/compact',
    'key POST /v1/chat/completions',
    'key POST /v1/completions',
    'key POST /v1/codex/reviews',
    'key POST /v1/images/generations',
    'key POST /v1/images/edits',
    'key POST /backend-api/codex/responses',
    'key POST /backend-api/codex/responses/compact',
    'key POST /v1/responses/input_tokens',
    'key POST /v1/responses/{id}/steer',
    'key POST /v1/embeddings',
    'key POST /v1/images/{rest}',
    'key POST /v1/audio/{rest}',
    'key POST /v1/messages',
    'key POST /v1/messages/{rest}',
    'key GET /v1/models',
    'key GET /backend-api/codex/models',
    'key GET /backend-api/wham/usage',
    'key GET /api/codex/usage',
    'key GET /v1/models/{id}',
    'key GET /v1/mcp/tools',
    'key GET /v1/codex/models',
    'key GET /v1/codex/account',
    'key GET /v1/codex/rate-limits',
    'key GET /v1/codex/usage',
    'key GET /v1/codex/mcp',
    'key GET /v1/codex/config',
    'key POST /v1/codex/feedback',
    'open GET /',
    'open GET /docs/{page}',
    'open GET /healthz',
    'open GET /readyz',
    'local GET /metrics',
  ]);
});
