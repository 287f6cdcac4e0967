import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

import type { Json } from '../../src/kit/json/json.ts';
import { CLOUDFLARE_HEADERS, CLOUDFLARE_PAGE } from './cloudflare.ts';
import type { Dial } from './recorded.ts';
import type { RefusedAnswer } from './rule.ts';
import { SocketSession, type OpenDial, type SessionOptions } from './socket-session.ts';

/** What can go wrong before there is a socket. */
export type UpgradeFault =
  | { readonly status: 401 | 403 | 426 | 429 | 500 | 502 | 503 }
  | 'cloudflare-page'
  | 'no-answer';

export interface SocketServerOptions extends Omit<SessionOptions, 'path'> {
  readonly path: string;
  readonly isBlocked: (headers: IncomingHttpHeaders) => boolean;
  readonly judgeUpgrade: (headers: IncomingHttpHeaders) => {
    readonly refusal: RefusedAnswer | null;
    readonly broken: readonly string[];
  };
  /** Headers of the 101. */
  readonly headersFor: (headers: IncomingHttpHeaders) => Readonly<Record<string, string>>;
}

/** The bodies of refusals, as far as known. */
const BODIES: Readonly<Record<number, Json>> = {
  401: { detail: 'Unauthorized' },
  429: { error: { type: 'usage_limit_reached', message: 'The usage limit has been reached' } },
  500: { detail: 'Internal Server Error' },
  503: { error: { code: 'server_is_overloaded', message: 'Our servers are currently overloaded.' } },
};

/** The set-cookie of every 101: the load balancer's. */
const BALANCER_COOKIE = '__cflb=made-up-balancer';

/** The WebSockets of the service. */
export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #server = new WebSocketServer({ noServer: true, perMessageDeflate: true, maxPayload: 0 });
  readonly #sessions = new Set<SocketSession>();
  readonly #silent = new Set<Duplex>();
  readonly #dials: OpenDial[] = [];
  #faults: { readonly fault: UpgradeFault; left: number }[] = [];

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#server.on('headers', (lines, { headers }) => {
      for (const [name, value] of Object.entries(options.headersFor(headers)))
        lines.push(`${name}: ${value}`);
      lines.push(`set-cookie: ${BALANCER_COOKIE}; path=/; HttpOnly`);
    });
  }

  get dials(): readonly Dial[] {
    return this.#dials;
  }

  attach(server: Server): void {
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
      // A peer that disconnects is not an error of the fake.
      socket.on('error', () => {});
      this.#upgrade(incoming, socket, head);
    });
  }

  fail(fault: UpgradeFault, times: number): void {
    this.#faults.push({ fault, left: times });
  }

  /** Those without a request, with a close frame. */
  closeIdle(code: number): void {
    for (const session of this.#sessions) if (session.isIdle) session.close(code);
  }

  /** All at once, without a close frame. */
  cut(which: 'idle' | 'all'): void {
    for (const session of this.#sessions) if (which === 'all' || session.isIdle) session.cut();
  }

  /** Open sockets stay open. */
  reset(): void {
    this.#dials.length = 0;
    this.#faults = [];
  }

  close(): void {
    this.cut('all');
    for (const socket of this.#silent) socket.destroy();
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { headers } = incoming;
    const { pathname } = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    if (pathname !== this.#options.path) return refuse(socket, 404, { detail: 'Not Found' });
    const { refusal, broken } = this.#options.judgeUpgrade(headers);
    const dial: OpenDial = { headers, broken, status: null, frames: 0, pongs: 0, closed: null };
    this.#dials.push(dial);
    const fault = this.#nextFault();
    if (fault === 'no-answer') {
      this.#silent.add(socket);
      socket.once('close', () => this.#silent.delete(socket));
      return;
    }
    if (fault === 'cloudflare-page' || this.#options.isBlocked(headers)) {
      dial.status = 403;
      return refuse(socket, 403, CLOUDFLARE_PAGE, CLOUDFLARE_HEADERS);
    }
    const refused = fault === null ? refusal : { status: fault.status, body: BODIES[fault.status] ?? '' };
    if (refused !== null) {
      dial.status = refused.status;
      return refuse(socket, refused.status, refused.body);
    }
    dial.status = 101;
    this.#server.handleUpgrade(incoming, socket, head, (webSocket) => {
      const session = new SocketSession(webSocket, dial, this.#options);
      this.#sessions.add(session);
      webSocket.once('close', () => this.#sessions.delete(session));
    });
  }

  #nextFault(): UpgradeFault | null {
    const pending = this.#faults[0];
    if (pending === undefined) return null;
    pending.left -= 1;
    if (pending.left <= 0) this.#faults.shift();
    return pending.fault;
  }
}

const refuse = (
  socket: Duplex,
  status: number,
  body: Json,
  headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' },
): void => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${String(status)} Refused\r\n${lines.join('')}\r\n${text}`);
};
