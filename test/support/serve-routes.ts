import { expect } from 'vitest';

import { gatewayError } from '../../src/canonical/failure/failure.ts';
import type { Authenticator } from '../../src/http/guards/authenticate.ts';
import { createCors } from '../../src/http/guards/cors.ts';
import { ALL_SCOPES } from '../../src/http/guards/scopes.ts';
import { createServer } from '../../src/http/server.ts';
import type { Route } from '../../src/http/route.ts';
import { createLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createBodyBudget, type BodyBudget } from '../../src/turns/body-budget.ts';
import { fixedAmbient } from './turn-events.ts';

/** The budget for bodies and answers of a server in a test. */
export const testBodies = (): BodyBudget =>
  createBodyBudget({
    maxBytes: 64 * 1024 * 1024,
    waitMs: 30_000,
    clock: { now: () => 0 },
    onChange() {},
    onRefused() {},
  });

/**
 * A server in this process with a test's routes, its log and its metrics. The page at `page.test` may call
 * it.
 */
export const serveRoutes = (
  routes: readonly Route[],
  authenticate: Authenticator = ({ headers }) => {
    if (headers.get('authorization') !== 'Bearer good') throw gatewayError('invalid_api_key');
    return { keyId: 'key_good', scopes: ALL_SCOPES };
  },
  isPrivate: (http: Request) => boolean = () => false,
) => {
  const log: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: 'info',
    destination: { write: (line) => void log.push(JSON.parse(line)) },
  });
  const metrics = createMetrics();
  const ambient = fixedAmbient();
  const clock = { nowMs: ambient.clock.now(), now: () => clock.nowMs };
  const server = createServer({
    routes,
    authenticate,
    isPrivate,
    cors: createCors(['http://page.test']),
    ambient: { ...ambient, clock },
    observer: { open: () => null },
    logger,
    metrics,
    bodies: testBodies(),
    uploadIdleTimeoutMs: 30_000,
  });
  const send = async (path: string, init: RequestInit = {}): Promise<Response> =>
    server.fetch(new Request(`http://proxy${path}`, init));
  return { server, send, log, metrics, clock };
};

export const KEY = { headers: { authorization: 'Bearer good' } };
export const route = (handle: Route['handle'], different: Partial<Route> = {}): Route => ({
  method: 'GET',
  path: '/thing',
  access: 'key',
  handle,
  ...different,
});
/** The access log line of a request, with a test's changes. */
export const accessLine = (different: Record<string, unknown>): Record<string, unknown> => ({
  level: 'info',
  time: expect.any(String),
  msg: 'request',
  requestId: 'req_minted1',
  method: 'GET',
  route: '/thing',
  status: 200,
  model: null,
  stream: null,
  keyId: 'key_good',
  client: null,
  named: null,
  request: null,
  traceparent: null,
  copilotTraceId: null,
  intercept: null,
  firstEventMs: null,
  durationMs: 0,
  outcome: null,
  inputTokens: null,
  outputTokens: null,
  errorCode: null,
  ...different,
});
