import type { Duplex } from 'node:stream';

import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { errorResponse } from '../../http/answer/error-response.ts';
import type { OpenExchange } from '../../http/exchange/exchange.ts';
import { namedSessionOf } from '../../http/exchange/session.ts';
import { isLocalCaller } from '../../http/guards/local-caller.ts';
import { requestIdOf } from '../../http/guards/request-id.ts';
import { type Caller, INFER, requireScope } from '../../http/guards/scopes.ts';
import type { AcceptedUpgrade, ClientSocket, UpgradeRequest, Upgrades } from '../../http/listen/upgrade.ts';
import type { Route } from '../../http/route.ts';
import { isWebSocket } from '../../http/server.ts';
import { within } from '../../kit/async/wait.ts';
import { quoted } from '../../kit/text/display.ts';
import type { Api } from '../../turns/api.ts';
import { CLOSE, Connection, type ConnectionTimes } from './connection.ts';
import { ConnectionMemories } from './connection-memory.ts';
import { WEBSOCKET_TABLES } from './feature.ts';
import { OpenSockets } from './open-sockets.ts';
import { CLIENT_GONE } from '../../observe/request-end.ts';

const HOUR_MS = 60 * 60_000;
/** Below the idle time of usual proxies and load balancers. */
const PING_MS = 25_000;

/** An upgrade does not reach these routes, unless this server has no WebSockets. */
const upgradeOnly =
  (path: string): Route['handle'] =>
  (http) => {
    if (isWebSocket(http)) throw gatewayError('websocket_not_supported');
    throw gatewayError('method_not_allowed', { message: `GET on ${path} has to ask for a WebSocket.` });
  };

export const openWebsockets = async (
  core: Core,
  own: Own<typeof WEBSOCKET_TABLES>,
): Promise<OpenFeature<typeof WEBSOCKET_TABLES>> => {
  const routes = {
    'GET /v1/responses': upgradeOnly('/v1/responses'),
    'GET /backend-api/codex/responses': upgradeOnly('/backend-api/codex/responses'),
  };
  if (own.settings.maxWebsockets === 0) return { routes };
  const sockets = new Sockets(core, own);
  return {
    routes,
    upgrades: sockets,
    drain: (timeoutMs) => sockets.drain(timeoutMs),
    close: () => sockets.close(),
  };
};

/** How often connections are looked at, at least. */
const BEAT_MS = 5_000;
const BEATS_PER_TIME = 5;
/** For clients to close their side when the server stops. */
const CLOSE_GRACE_MS = 1_000;

/** `GET /v1/responses` as a WebSocket: the same API, many requests on one connection. */
class Sockets implements Upgrades {
  readonly #core: Core;
  /** Those of the features after this one count, too. */
  readonly #offers: Own<typeof WEBSOCKET_TABLES>['offers'];
  readonly #times: ConnectionTimes;
  readonly #apis: ReadonlyMap<string, Api>;
  readonly #open: OpenSockets<Connection>;
  readonly #memories: ConnectionMemories;
  readonly #timer: NodeJS.Timeout;
  /** Of all connections, when the server stops. */
  readonly #closed = Promise.withResolvers<void>();

  constructor(core: Core, { settings, metrics, offers }: Own<typeof WEBSOCKET_TABLES>) {
    this.#core = core;
    this.#offers = offers;
    this.#apis = new Map(
      core.apis.flatMap((api) => (`GET ${api.path}` in WEBSOCKET_TABLES.routes ? [[api.path, api]] : [])),
    );
    const { clock } = core.ambient;
    this.#open = new OpenSockets({
      max: settings.maxWebsockets,
      isAdmin: (keyId) => offers.isAdmin(keyId),
      clock,
      onChange: (open) => metrics.clientSockets.set(open),
    });
    this.#memories = new ConnectionMemories({
      maxBytes: settings.websocketMemoryMb * 1024 * 1024,
      onChange: (bytes) => metrics.socketBytesRemembered.set(bytes),
      clock,
    });
    const { socketMaxAgeMs = HOUR_MS, socketPingMs = PING_MS } = core.times;
    const idleMs = settings.websocketIdleTimeoutMs;
    const { uploadIdleMs } = core.waits;
    this.#times = { maxAgeMs: socketMaxAgeMs, idleMs, pingMs: socketPingMs, uploadIdleMs };
    const beatMs = Math.min(BEAT_MS, Math.min(idleMs, socketPingMs, uploadIdleMs) / BEATS_PER_TIME);
    this.#timer = setInterval(() => this.#beat(), Math.max(beatMs, 1)).unref();
  }

  takes(path: string): boolean {
    return this.#apis.has(path);
  }

  /** Checks an upgrade like any other request. A refusal is an HTTP answer with a body. */
  async ask({ path, headers, connectionInfo, signal }: UpgradeRequest): Promise<Response | AcceptedUpgrade> {
    const { ambient, cors } = this.#core;
    const exchanges = this.#core.exchanges();
    const requestId = requestIdOf(headers.get('x-request-id'), ambient.ids);
    const { address } = connectionInfo;
    const isLocal = isLocalCaller(headers, connectionInfo);
    const exchange = exchanges.open({
      requestId,
      method: 'GET',
      route: path,
      headers,
      address,
      isLocal: () => isLocal,
      clientSignal: signal,
    });
    try {
      const api = this.#apis.get(path);
      if (api === undefined) throw gatewayError('websocket_not_supported');
      if (exchanges.isDraining) throw gatewayError('shutting_down', { retryAfterSeconds: RETRY_SECONDS });
      this.#checkOrigin(headers, exchange);
      const url = `ws://${headers.get('host') ?? ''}${path}`;
      const callerNow = async () => this.#offers.authenticate({ method: 'GET', url, headers, address });
      const identity = await callerNow();
      exchange.admit(identity);
      requireScope(identity, INFER);
      const place = await this.#open.reserve(identity.keyId, exchange.signal);
      exchange.note({ status: 101, named: namedSessionOf(headers) });
      return {
        headers: { 'x-request-id': requestId },
        open: (ws, socket) => {
          // It lives long enough for the key to be changed, or to end with a rotation.
          const checkKey = async () => requireScope(await callerNow(), INFER);
          const asked = { api, requestId, headers, identity, address, isLocal, checkKey };
          place.open(this.#add(ws, socket, asked));
        },
        giveUp: () => place.giveUp(),
      };
    } catch (error) {
      const response = errorResponse(exchanges.failed(exchange, error));
      exchange.note({ status: signal.aborted ? CLIENT_GONE : response.status });
      response.headers.set('x-request-id', requestId);
      return cors.share(response, headers.get('origin'));
    } finally {
      exchange.returned();
    }
  }

  /**
   * The server is stopping: idle connections are closed, the others when their responses have ended. All of them are gone
   * before what their requests need is closed.
   */
  async drain(timeoutMs: number): Promise<void> {
    const ended = this.#core.exchanges().drain(timeoutMs);
    for (const connection of this.#open) connection.drain();
    await ended;
    await this.close();
  }

  /** Ends all connections. Resolves when their clients have read what was sent, or do not read. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const connection of this.#open) connection.close(CLOSE.goingAway, 'The server is shutting down.');
    if (this.#open.size > 0) await within(this.#closed.promise, CLOSE_GRACE_MS);
    for (const connection of this.#open) connection.terminate();
  }

  /** A page of this server's own origin may connect, and so may programs that name it as theirs. */
  #checkOrigin(headers: Headers, { requestId }: OpenExchange): void {
    const origin = headers.get('origin');
    if (origin === null || this.#core.cors.isAllowed(origin)) return;
    if (URL.parse(origin)?.host === headers.get('host')) return;
    this.#core.logger.warn(
      { requestId, origin: quoted(origin) },
      'WebSocket of a web page rejected: its origin is not in PROXY_CORS_ALLOWED_ORIGINS',
    );
    throw gatewayError('origin_not_allowed');
  }

  #add(
    ws: ClientSocket,
    socket: Duplex,
    {
      api,
      ...asked
    }: {
      readonly api: Api;
      readonly identity: Caller;
      readonly requestId: string;
      readonly headers: Headers;
      readonly address: string;
      readonly isLocal: boolean;
      readonly checkKey: () => Promise<void>;
    },
  ): Connection {
    const { logger, bodies } = this.#core;
    const exchanges = this.#core.exchanges();
    const caller = asked.identity.keyId;
    const connection = new Connection(
      ws,
      socket,
      {
        ...asked,
        memory: this.#memories.open(caller),
        queue: this.#open.queueOf(caller),
        times: this.#times,
      },
      { api, turns: this.#core.turns(), exchanges },
    );
    ws.onTooLarge = () => connection.fail(tooLarge(bodies.maxBodyBytes), CLOSE.tooLarge);
    let trouble: string | null = null;
    ws.on('error', ({ message }) => {
      trouble = message;
    });
    ws.on('close', (code) => {
      this.#open.delete(connection);
      connection.closed();
      if (exchanges.isDraining && this.#open.size === 0) this.#closed.resolve();
      logger.info({ ...connection.facts, route: api.path, code, trouble }, 'websocket closed');
    });
    if (exchanges.isDraining) connection.drain();
    return connection;
  }

  #beat(): void {
    for (const connection of this.#open) connection.beat();
  }
}

const RETRY_SECONDS = 5;

const tooLarge = (maxBytes: number) =>
  failure('request_too_large', { message: `The message is larger than the ${maxBytes} bytes allowed.` });
