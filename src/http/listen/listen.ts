import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  STATUS_CODES,
  type Server,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { getRequestListener, RequestError, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';

import { failure, failureOf, resourceFailure, type Failure } from '../../canonical/failure/failure.ts';
import { setIncoming } from '../body/read-bytes.ts';
import { connectionInfoOf, type ConnectionInfo } from '../exchange/connection-info.ts';
import { limitConnections, maxClientsOf, processLimits } from './connection-limit.ts';
import { errorResponse } from '../answer/error-response.ts';
import { acceptUpgrades, upgradableRequest, type Upgrades } from './upgrade.ts';
import { isStream, writeStream } from '../answer/write-stream.ts';

/** A usual limit of reverse proxies. Node checks again if a write was in progress, so the real limit may be twice that. */
const STALL_MS = 60_000;

/**
 * Closes connections whose client has read nothing for this long although data is waiting: it would hold the memory of
 * its request and answer for ever. A client that waits for the proxy is not affected. Returns a function that watches a
 * connection which was upgraded.
 */
export const endStalled = (server: Server, stallMs = STALL_MS): ((socket: Socket) => void) => {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', (incoming, outgoing) => answers.set(incoming.socket, outgoing));
  // Node reports any connection without traffic in either direction.
  server.setTimeout(stallMs, (socket) => {
    const isAnswering = answers.get(socket)?.writableFinished === false;
    if (!isAnswering || socket.writableLength > 0) socket.destroy();
  });
  return (socket) => {
    // The server does not listen to it any more, and a listener of `setTimeout` is called only once.
    socket.on('timeout', () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    socket.setTimeout(stallMs);
  };
};

/** Maps an error code of Node's parser to a failure. */
const parserFailure = (code: string): Failure => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return failure('headers_too_large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return failure('request_too_large', { message: 'The chunk extensions of the request are too large.' });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return failure('request_timeout');
    default:
      return failure('malformed_request');
  }
};

/** A raw answer for a connection without a parsed request. It closes the connection. */
const rawAnswer = async (response: Response): Promise<string> => {
  const body = await response.text();
  const headers = [...response.headers, ['content-length', String(Buffer.byteLength(body))]];
  return [
    `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n');
};

export interface Listener {
  readonly url: string;
  /** Accepts no more connections, and ends idle ones. */
  stop(): void;
  /** Ends all connections. Resolves when they are closed. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Answers, and may log, an invalid request. The origin is that of a web page, if known. */
  readonly refuse?: (failed: Failure, origin?: string | null) => Response;
  /** A connection could not be accepted, for example because there are no descriptors left. */
  readonly onAcceptError?: (error: Error) => void;
  /** Maximum number of connections. Default: half of the descriptors that the system allows. */
  readonly maxClients?: number | null;
  /** What opens WebSockets; null: the server is starting. Default: there are none. */
  readonly upgrades?: () => Upgrades | null;
  /** For a message of a WebSocket. */
  readonly maxBodyBytes?: number;
  /** How long a client may read nothing although data is waiting. */
  readonly stallMs?: number;
}

/** Time that a connection stays open after the answer to an invalid request. */
const LINGER_MS = 500;

const answerRaw = async (socket: Duplex, response: Response): Promise<void> => {
  // Closing a socket with unread data resets the connection, and the answer may be lost.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.resume();
  socket.end(await rawAnswer(response));
};

const NO_WAY: Failure = failure('method_not_allowed', {
  message: 'CONNECT is not supported: this is not a forward proxy.',
});

const NAMELESS: Failure = failure('malformed_request', { message: 'The Host header is missing.' });

/** HTTP/1.0 has no such header. */
const isNameless = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.host === undefined && httpVersion !== '1.0';

type Fetch = (http: Request, connectionInfo: ConnectionInfo) => Promise<Response> | Response;

export const listen = async (fetch: Fetch, options: ListenOptions): Promise<Listener> => {
  const { host, port, refuse = (failed) => errorResponse(failed), onAcceptError = () => {} } = options;
  const { maxClients = maxClientsOf(processLimits()), upgrades = () => null, maxBodyBytes = 0 } = options;
  /** Requests whose client waits for `100 Continue`. */
  const awaitingContinue = new WeakSet<IncomingMessage>();
  const answers = new WeakMap<Socket, ServerResponse>();
  const refused = new WeakSet<object>();

  const answer = async (http: Request, { incoming, outgoing }: HttpBindings): Promise<Response> => {
    if (connections.isExcess(incoming.socket)) {
      const response = refuse(resourceFailure(), http.headers.get('origin'));
      response.headers.set('connection', 'close');
      return response;
    }
    setIncoming(http, incoming);
    const response = isNameless(incoming)
      ? refuse(NAMELESS, http.headers.get('origin'))
      : await fetch(http, connectionInfoOf(incoming, outgoing));
    // Its body will not come: the next bytes on this connection could be mistaken for it.
    if (awaitingContinue.has(incoming)) response.headers.set('connection', 'close');
    return response;
  };

  const send = async (http: Request, exchange: HttpBindings): Promise<Response> => {
    const response = await answer(http, exchange);
    if (!isStream(response)) return response;
    writeStream(response, exchange.outgoing);
    return RESPONSE_ALREADY_SENT;
  };

  const listener = getRequestListener((http, bindings) => send(http, bindings as HttpBindings), {
    overrideGlobalObjects: false,
    // For HTTP/1.0, which has no Host header.
    hostname: 'localhost',
    errorHandler: (error) =>
      error instanceof RequestError ? refuse(failure('malformed_request')) : errorResponse(failureOf(error)),
  });
  // Node's own rejection of a request without a host has no body.
  const IncomingMessage = upgradableRequest(upgrades);
  const server = createServer({ requireHostHeader: false, IncomingMessage }, (incoming, outgoing) => {
    answers.set(incoming.socket, outgoing);
    void listener(incoming, outgoing);
  });
  const connections = limitConnections(server, maxClients);

  // `100 Continue` is sent when the body is read, after the key and the length have been checked.
  server.on('checkContinue', (incoming, outgoing) => {
    awaitingContinue.add(incoming);
    incoming.once('resume', () => {
      awaitingContinue.delete(incoming);
      if (!outgoing.headersSent) outgoing.writeContinue();
    });
    server.emit('request', incoming, outgoing);
  });
  // Other expectations are ignored.
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing));

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const last = answers.get(socket as Socket);
    const underWay = last?.writableFinished === false ? last : null;
    // A client that disconnects during a request is reported by that request, even if it was answered before its body
    // was complete.
    const hasOne = underWay !== null || last?.req.complete === false;
    const isLeaving = error.code === 'HPE_INVALID_EOF_STATE' && hasOne;
    const isGone = error.code === 'ECONNRESET' || !socket.writable || isLeaving;
    if (isGone || underWay?.headersSent === true) {
      socket.destroy();
      return;
    }
    void answerRaw(socket, refuse(parserFailure(error.code ?? ''), underWay?.req.headers.origin));
  });

  // Node would close the connection without an answer.
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => socket.destroy());
    void answerRaw(socket, refuse(NO_WAY));
  });

  // Longer than the idle time of usual clients and load balancers, so that they close the connection and never
  // send a request on a closing socket.
  server.keepAliveTimeout = 75_000;
  const watchStalled = endStalled(server, options.stallMs);
  const endUpgraded = acceptUpgrades(server, {
    upgrades,
    maxMessageBytes: maxBodyBytes,
    refuse,
    refusalOf: (incoming) =>
      connections.isExcess(incoming.socket) ? resourceFailure() : isNameless(incoming) ? NAMELESS : null,
    answer: (socket, response) => void answerRaw(socket, response),
    onUpgraded(socket) {
      connections.upgraded(socket);
      watchStalled(socket);
    },
  });
  server.listen(port, host);
  await once(server, 'listening');
  server.on('error', onAcceptError);
  const { port: actual, family, address } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actual}`,
    stop() {
      server.close();
      server.closeIdleConnections();
    },
    async close() {
      const closed = server.listening ? once(server, 'close') : null;
      server.close();
      server.closeAllConnections();
      endUpgraded();
      await closed;
    },
  };
};
