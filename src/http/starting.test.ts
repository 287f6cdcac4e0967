import { expect, it } from 'vitest';

import { startingFetch } from './starting.ts';

it.each<readonly [string, number, string | null, unknown]>([
  ['/healthz', 200, null, { status: 'ok' }],
  ['/readyz?backend', 503, null, { status: 'not ready' }],
  [
    '/v1/responses',
    503,
    '1',
    {
      error: {
        message: 'The server is starting.',
        type: 'server_error',
        param: null,
        code: 'worker_unavailable',
      },
    },
  ],
])('before the app is ready %s gets %i', async (path, status, retryAfter, body) => {
  const answer = startingFetch(new Request(`http://127.0.0.1${path}`));
  expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
    status,
    retryAfter,
    body,
  ]);
});
