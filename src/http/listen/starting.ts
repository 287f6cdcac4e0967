import { failure } from '../../canonical/failure/failure.ts';
import { errorBody } from '../../openai/shared/error-body.ts';
import type { Cors } from '../guards/cors.ts';

/**
 * Answers while the app is being built. The port is taken first, so that a port in use is known before
 * a worker is started; a request that comes too early is told to come again, it does not hang.
 */
export const startingFetch = (http: Request, cors: Cors): Response =>
  cors.share(cors.preflight(http) ?? answerTo(http), http.headers.get('origin'));

const answerTo = (http: Request): Response => {
  const { pathname } = new URL(http.url);
  if (pathname === '/healthz') return Response.json({ status: 'ok' });
  if (pathname === '/readyz') return Response.json({ status: 'not ready' }, { status: 503 });
  const starting = failure('worker_unavailable', { message: 'The server is starting.' });
  return Response.json(errorBody(starting), { status: starting.status, headers: { 'retry-after': '1' } });
};
