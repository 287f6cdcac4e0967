import { failure } from '../../canonical/failure/failure.ts';
import { errorFormOf, errorResponse } from '../answer/error-response.ts';
import type { Cors } from '../guards/cors.ts';

/**
 * Answers while the app is being built. The port is opened first, so that a port in use is found before a worker starts;
 * an early request gets a 503 with `retry-after`.
 */
export const startingFetch = (http: Request, cors: Cors): Response =>
  cors.share(cors.preflight(http) ?? answerTo(http), http.headers.get('origin'));

const answerTo = (http: Request): Response => {
  const { pathname } = new URL(http.url);
  if (pathname === '/healthz') return Response.json({ status: 'ok' });
  if (pathname === '/readyz') return Response.json({ status: 'not ready' }, { status: 503 });
  const starting = failure('worker_unavailable', {
    message: 'The server is starting.',
    retryAfterSeconds: 1,
  });
  return errorResponse(starting, errorFormOf(http), null);
};
