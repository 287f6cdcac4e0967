import { Hono } from 'hono';

import { MESSAGES_PATH } from '../anthropic/messages/api.ts';
import { failure, gatewayError, GatewayError, type Failure } from '../canonical/failure/failure.ts';
import type { Ambient } from '../kit/ambient.ts';
import { quoted } from '../kit/text/display.ts';
import { toAccessLine, CLIENT_GONE, requestEnd } from '../observe/request-end.ts';
import type { Logger } from '../observe/log.ts';
import { MIN_UPLOAD_BYTES_PER_SECOND, type ConnectionInfo, type Stall } from './exchange/connection-info.ts';
import { errorFormOf, isForAnthropic, errorResponse, unknownUrl } from './answer/error-response.ts';
import { largeBytesOf } from './answer/json-response.ts';
import type { Exchange, OpenExchange } from './exchange/exchange.ts';
import { Exchanges, type ExchangesDeps } from './exchange/exchanges.ts';
import type { Authenticator } from './guards/authenticate.ts';
import type { Cors } from './guards/cors.ts';
import type { BodyBudget } from '../turns/body-budget.ts';
import { isLocalCaller, isOnThisMachine, reachedAt } from './guards/local-caller.ts';
import { requestIdOf } from './guards/request-id.ts';
import { INFER, requireScope } from './guards/scopes.ts';
import type { Route, RouteAccess } from './route.ts';

export interface ServerDeps {
  readonly routes: readonly Route[];
  readonly authenticate: Authenticator;
  readonly cors: Cors;
  /** Whether the answer is never shared with pages of other origins. */
  readonly isPrivate: (http: Request) => boolean;
  readonly ambient: Ambient;
  readonly logger: Logger;
  readonly metrics: ExchangesDeps['metrics'];
  readonly observer: ExchangesDeps['observer'];
  /** Counts large answers until their clients have them. */
  readonly bodies: BodyBudget;
  /** How long an upload may stall. */
  readonly uploadIdleTimeoutMs: number;
}

export interface HttpServer {
  readonly fetch: (http: Request, connectionInfo?: ConnectionInfo) => Promise<Response> | Response;
  /** Answers and logs an invalid request. The origin is that of a web page, if known. */
  refuse(failed: Failure, origin?: string | null): Response;
  readonly exchanges: Exchanges;
}

/** For the log and the metrics only: the request could not be parsed. */
const NO_ROUTE = '(malformed)';

export const createServer = (deps: ServerDeps): HttpServer => {
  const exchanges = new Exchanges(deps);

  const answer: Answer = async (http, route, connectionInfo) => {
    const requestId = requestIdOf(http.headers.get('x-request-id'), deps.ambient.ids);
    const exchange = exchanges.open({
      requestId,
      method: http.method,
      route: route.path,
      headers: http.headers,
      address: connectionInfo?.address ?? '',
      isLocal: () => isLocalCaller(http.headers, connectionInfo),
      isOnThisMachine: () => isOnThisMachine(http.headers, connectionInfo),
      reachedAt: () => reachedAt(http.headers, connectionInfo),
      clientSignal: http.signal,
      isOfClient: isForClients(route),
    });
    const stopWatching = connectionInfo?.onStall(deps.uploadIdleTimeoutMs, (why) =>
      exchange.abort(uploadFailure(why)),
    );
    exchange.atEnd(() => stopWatching?.());
    const isOpen = route.access === 'local' && exchange.isLocal();
    const asked = isOpen ? { ...route, access: 'open' as const } : route;
    const response = await respond(http, asked, exchange);
    if (connectionInfo !== undefined) holdAnswer(response, exchange, connectionInfo);
    exchange.note({ status: response.status });
    response.headers.set('x-request-id', requestId);
    if (isForAnthropic(http)) response.headers.set('request-id', requestId);
    // More of an abandoned request may still arrive.
    if (exchange.signal.aborted) response.headers.set('connection', 'close');
    exchange.returned();
    const shared = deps.isPrivate(http) ? response : deps.cors.share(response, http.headers.get('origin'));
    // Only its head is sent: a stream would wait for its reader for ever.
    if (http.method === 'HEAD') await shared.body?.cancel();
    return shared;
  };

  /** A client that does not read must not keep more than its share in memory. Before what was loaded for it is let go. */
  const holdAnswer = (response: Response, exchange: Exchange, connectionInfo: ConnectionInfo): void => {
    const bytes = largeBytesOf(response);
    if (bytes === 0) return;
    const held = deps.bodies.open(exchange.caller(), exchange.signal, () => connectionInfo.cut());
    held.keep(bytes);
    connectionInfo.onTaken(() => held.letGo());
  };

  const respond = async (http: Request, route: RouteMatch, exchange: OpenExchange): Promise<Response> => {
    try {
      const preflight = deps.isPrivate(http) ? null : deps.cors.preflight(http);
      if (preflight !== null) return preflighted(preflight, http, exchange);
      if (exchanges.isDraining && route.access !== 'open')
        throw gatewayError('shutting_down', { retryAfterSeconds: 5 });
      if (route.access !== 'open') {
        const { method, url, headers } = http;
        const { address } = exchange;
        const caller = await deps.authenticate({ method, url, headers, address });
        exchange.admit(caller);
        requireScope(caller, route.scopes ?? INFER);
      }
      return await route.handle(http, exchange, route.params);
    } catch (error) {
      if (http.signal.aborted) return new Response(null, { status: CLIENT_GONE });
      const form = route.errors ?? errorFormOf(http);
      return errorResponse(exchanges.failed(exchange, error), form, exchange.requestId);
    }
  };

  const preflighted = (response: Response, { headers }: Request, { requestId }: Exchange): Response => {
    const origin = headers.get('origin') ?? '';
    if (!deps.cors.isAllowed(origin)) {
      const message = 'request from a web page rejected: its origin is not in PROXY_CORS_ALLOWED_ORIGINS';
      deps.logger.warn({ requestId, origin: quoted(origin) }, message);
    }
    return response;
  };

  return {
    fetch: router(deps.routes, answer),
    refuse(failed, origin = null) {
      const requestId = deps.ambient.ids.mint('req');
      const { status } = failed;
      const request = { requestId, method: '', route: NO_ROUTE, startedAt: 0, backgroundId: null };
      deps.logger.info(toAccessLine(requestEnd(request, { status, failure: failed }, 0)), 'request');
      deps.metrics.requests.inc({ route: NO_ROUTE, status: String(status) });
      const response = errorResponse(failed);
      response.headers.set('x-request-id', requestId);
      return deps.cors.share(response, origin);
    },
    exchanges,
  };
};

/** Whether only programs that run turns need the route: others are also asked by dashboards and probes, again and again. */
const isForClients = ({ access, scopes = INFER }: RouteAccess): boolean =>
  access === 'key' && scopes.every((scope) => scope === 'infer');

const uploadFailure = (why: Stall): GatewayError =>
  gatewayError(
    'request_timeout',
    why === 'silent'
      ? {}
      : {
          message: `The request body arrived too slowly: at least ${MIN_UPLOAD_BYTES_PER_SECOND} bytes per second are required. Please send it again.`,
        },
  );

interface RouteMatch extends RouteAccess {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  handle: Route['handle'];
}

type Answer = (
  http: Request,
  route: RouteMatch,
  connectionInfo: ConnectionInfo | undefined,
) => Promise<Response>;

/** Hono finds the route; unknown paths and methods are handled like any other request. */
const router = (routes: readonly Route[], answer: Answer): HttpServer['fetch'] => {
  const hono = new Hono<{ Bindings: { readonly connectionInfo: ConnectionInfo | undefined } }>();
  for (const route of routes) {
    hono.on(route.method, route.path, (c) =>
      answer(c.req.raw, { ...route, path: labelOf(route.path), params: c.req.param() }, c.env.connectionInfo),
    );
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const allowed = routes.filter((route) => route.path === path).map((route) => route.method);
    hono.all(path, (c) =>
      answer(
        c.req.raw,
        refusal(labelOf(path), () => {
          if (isWebSocket(c.req.raw)) throw gatewayError('websocket_not_supported');
          throw methodNotAllowed(c.req.method, labelOf(path), allowed);
        }),
        c.env.connectionInfo,
      ),
    );
  }
  hono.notFound((c) =>
    answer(
      c.req.raw,
      refusal('(unknown)', () => {
        throw unknownUrl(c.req.method, c.req.path, baseUrlHint(c.req.method, c.req.path, routes));
      }),
      c.env.connectionInfo,
    ),
  );
  return (http, connectionInfo) => hono.fetch(http, { connectionInfo });
};

/** The most common client mistake: a base URL that lacks its path, has it twice, or is a full URL. */
const baseUrlHint = (method: string, path: string, routes: readonly Route[]): string => {
  const asked = path.endsWith('/') ? path.slice(0, -1) : path;
  const [meant] = routes
    .filter((route) => route.method === method && route.path.startsWith('/v1/'))
    .filter((route) => asked.endsWith(route.path.slice('/v1'.length)))
    .toSorted((one, other) => other.path.length - one.path.length);
  if (meant === undefined) return '';
  const baseUrl = meant.path.startsWith(MESSAGES_PATH)
    ? "the base URL of Anthropic's clients is the address of this server, without /v1"
    : 'the base URL of a client is the address of this server followed by /v1';
  return ` Use ${meant.path}: ${baseUrl}.`;
};

/** A path for logs and metrics: without the patterns of its parameters. */
const labelOf = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '');

const refusal = (path: string, handle: Route['handle']): RouteMatch => ({
  path,
  access: 'open',
  handle,
  params: {},
});

export const isWebSocket = ({ headers }: Request): boolean =>
  headers.get('upgrade')?.toLowerCase() === 'websocket';

const methodNotAllowed = (method: string, path: string, allowed: readonly string[]): GatewayError => {
  const message = `Not allowed to ${method} on ${path}.`;
  const failed = failure('method_not_allowed', { message });
  return new GatewayError({ ...failed, headers: { ...failed.headers, allow: allowed.join(', ') } });
};
