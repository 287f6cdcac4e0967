import type { Duplex } from 'node:stream';

import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import { within } from '../../kit/async/wait.ts';
import { type Caller, INFER, requireScope } from '../guards/scopes.ts';
import { quoted } from '../../kit/text/display.ts';
import type { Logger } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Api } from '../../turns/api.ts';
import { errorResponse } from '../answer/error-response.ts';
import type { OpenExchange } from '../exchange/exchange.ts';
import type { Exchanges } from '../exchange/exchanges.ts';
import { namedSessionOf } from '../exchange/session.ts';
import type { Authenticator } from '../guards/authenticate.ts';
import type { Cors } from '../guards/cors.ts';
import { isLocalCaller } from '../guards/local-caller.ts';
import { requestIdOf } from '../guards/request-id.ts';
import type { AcceptedUpgrade, ClientSocket, UpgradeRequest, Upgrades } from '../listen/upgrade.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import { CLOSE } from './close-codes.ts';
import { Connection } from './connection.ts';
import { ConnectionMemories, type MemoryOptions } from './connection-memory.ts';
import type { ConnectionTimes } from './liveness.ts';
import { OpenSockets } from './open-sockets.ts';

export interface SocketsDeps {
  /** One for each path. */
  readonly apis: readonly Api[];
  readonly turns: TurnDeps;
  readonly exchanges: Exchanges;
  readonly authenticate: Authenticator;
  readonly cors: Cors;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'clientSockets'>;
  readonly maxSockets: number;
  readonly isAdmin: (keyId: string) => boolean;
  readonly memory: Pick<MemoryOptions, 'maxBytes' | 'onChange'>;
  readonly times: ConnectionTimes;
}

/** How often connections are looked at, at least. */
const BEAT_MS = 5_000;
const BEATS_PER_TIME = 5;
/** For clients to close their side when the server stops. */
const CLOSE_GRACE_MS = 1_000;

/** `GET /v1/responses` as a WebSocket: the same API, many requests on one connection. */
export class Sockets implements Upgrades {
  readonly #deps: SocketsDeps;
  readonly #apis: ReadonlyMap<string, Api>;
  readonly #open: OpenSockets<Connection>;
  readonly #memories: ConnectionMemories;
  readonly #timer: NodeJS.Timeout;
  /** Of all connections, when the server stops. */
  readonly #closed = Promise.withResolvers<void>();

  constructor(deps: SocketsDeps) {
    this.#deps = deps;
    this.#apis = new Map(deps.maxSockets === 0 ? [] : deps.apis.map((api) => [api.path, api]));
    const { clock } = deps.turns.ambient;
    this.#open = new OpenSockets({
      max: deps.maxSockets,
      isAdmin: deps.isAdmin,
      clock,
      onChange: (open) => deps.metrics.clientSockets.set(open),
    });
    this.#memories = new ConnectionMemories({ ...deps.memory, clock });
    const { idleMs, pingMs, uploadIdleMs } = deps.times;
    const beatMs = Math.min(BEAT_MS, Math.min(idleMs, pingMs, uploadIdleMs) / BEATS_PER_TIME);
    this.#timer = setInterval(() => this.#beat(), Math.max(beatMs, 1)).unref();
  }

  takes(path: string): boolean {
    return this.#apis.has(path);
  }

  /** Checks an upgrade like any other request. A refusal is an HTTP answer with a body. */
  async ask({ path, headers, connectionInfo }: UpgradeRequest): Promise<Response | AcceptedUpgrade> {
    const { exchanges, authenticate, turns, cors } = this.#deps;
    const requestId = requestIdOf(headers.get('x-request-id'), turns.ambient.ids);
    const { address } = connectionInfo;
    const isLocal = isLocalCaller(headers, connectionInfo);
    const exchange = exchanges.open({
      requestId,
      method: 'GET',
      route: path,
      headers,
      address,
      isLocal: () => isLocal,
      clientSignal: new AbortController().signal,
    });
    try {
      const api = this.#apis.get(path);
      if (api === undefined) throw gatewayError('websocket_not_supported');
      if (exchanges.isDraining) throw gatewayError('shutting_down', { retryAfterSeconds: RETRY_SECONDS });
      this.#checkOrigin(headers, exchange);
      const url = `ws://${headers.get('host') ?? ''}${path}`;
      const callerNow = async () => authenticate({ method: 'GET', url, headers, address });
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
      exchange.note({ status: response.status });
      response.headers.set('x-request-id', requestId);
      return cors.share(response, headers.get('origin'));
    } finally {
      exchange.returned();
    }
  }

  /** The server is stopping: idle connections are closed, the others when their responses have ended. */
  drain(): void {
    for (const connection of this.#open) connection.drain();
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
    if (origin === null || this.#deps.cors.isAllowed(origin)) return;
    if (URL.parse(origin)?.host === headers.get('host')) return;
    this.#deps.logger.warn(
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
    const { turns, exchanges, logger, times } = this.#deps;
    const caller = asked.identity.keyId;
    const connection = new Connection(
      ws,
      socket,
      { ...asked, memory: this.#memories.open(caller), queue: this.#open.queueOf(caller), times },
      { api, turns, exchanges },
    );
    ws.onTooLarge = () => connection.fail(tooLarge(turns.maxBodyBytes), CLOSE.tooLarge);
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
