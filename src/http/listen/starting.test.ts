import { expect, it } from 'vitest';

import { createCors } from '../guards/cors.ts';
import { startingFetch } from './starting.ts';

const CORS = createCors(['http://page.test']);

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
  const answer = startingFetch(new Request(`http://127.0.0.1${path}`), CORS);
  expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toEqual([
    status,
    retryAfter,
    body,
  ]);
});

it('lets a web page read the answer', () => {
  const asked = { origin: 'http://page.test', 'access-control-request-method': 'POST' };
  const send = (method: string, headers: Record<string, string>): [number, string | null] => {
    const http = new Request('http://127.0.0.1/v1/responses', { method, headers });
    const answer = startingFetch(http, CORS);
    return [answer.status, answer.headers.get('access-control-allow-origin')];
  };
  expect([send('OPTIONS', asked), send('POST', { origin: 'http://page.test' })]).toEqual([
    [204, 'http://page.test'],
    [503, 'http://page.test'],
  ]);
});
