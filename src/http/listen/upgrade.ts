import { IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { WebSocket, WebSocketServer } from 'ws';

import { failure, type Failure } from '../../canonical/failure/failure.ts';
import { connectionInfoOf, type ConnectionInfo } from '../exchange/connection-info.ts';

/** Decides which requests become WebSockets, and owns those. */
export interface Upgrades {
  /** Whether there are WebSockets at this path. */
  takes(path: string): boolean;
  /** The refusal, or how to go on. Never rejects. */
  ask(request: UpgradeRequest): Promise<Response | AcceptedUpgrade>;
}

export interface UpgradeRequest {
  readonly path: string;
  readonly headers: Headers;
  readonly connectionInfo: ConnectionInfo;
  /** Aborted if the client leaves before it has an answer. */
  readonly signal: AbortSignal;
}

export interface AcceptedUpgrade {
  /** Of the answer that switches protocols. */
  readonly headers: Readonly<Record<string, string>>;
  /** The WebSocket is open. */
  open(ws: ClientSocket, socket: Duplex): void;
  /** In place of `open`: the handshake has failed. */
  giveUp(): void;
}

/** Reports a message that is too large before it closes the connection: `ws` only sends the code. */
export class ClientSocket extends WebSocket {
  onTooLarge: (() => void) | null = null;

  override close(code?: number, data?: string | Buffer): void {
    const report = code === TOO_LARGE ? this.onTooLarge : null;
    this.onTooLarge = null;
    report?.();
    super.close(code, data);
  }
}

const TOO_LARGE = 1009;

/** The time for a client to answer a close frame; the types of `ws` do not have it yet. */
const UNTYPED_OPTIONS = { closeTimeout: 5_000 };

/**
 * The requests of a server whose `upgrade` is true only for WebSockets that are served. Node would hand every request with
 * an `Upgrade` header to the listener, also those that only offer HTTP/2.
 */
export const upgradableRequest = (upgrades: () => Upgrades | null): typeof IncomingMessage => {
  // Not a field of the class: Node's constructor sets `upgrade` before there are any.
  const asking = new WeakSet<IncomingMessage>();
  return class extends IncomingMessage {
    get upgrade(): boolean {
      if (!asking.has(this) || this.method === 'CONNECT') return asking.has(this);
      const isWebSocket = this.method === 'GET' && this.headers.upgrade?.toLowerCase() === 'websocket';
      return isWebSocket && upgrades()?.takes(pathOf(this)) === true;
    }

    set upgrade(isAsking: boolean | null) {
      if (isAsking === true) asking.add(this);
      else asking.delete(this);
    }
  };
};

export interface UpgradeOptions {
  readonly maxMessageBytes: number;
  readonly upgrades: () => Upgrades | null;
  /** Answers, and may log, a request that cannot be an upgrade. */
  readonly refuse: (failed: Failure, origin: string | null) => Response;
  /** Null: the connection may be upgraded. */
  readonly refusalOf: (incoming: IncomingMessage) => Failure | null;
  readonly answer: (socket: Duplex, response: Response) => void;
  /** The connection does not belong to HTTP any more. */
  readonly onUpgraded: (socket: Socket) => void;
}

/** Opens WebSockets. Returns a function that ends all connections. */
export const acceptUpgrades = (server: Server, options: UpgradeOptions): (() => void) => {
  const open = new Set<Duplex>();
  const accepted = new WeakMap<IncomingMessage, AcceptedUpgrade>();
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    WebSocket: ClientSocket,
    maxPayload: options.maxMessageBytes,
    ...UNTYPED_OPTIONS,
  });
  sockets.on('headers', (lines, incoming) => {
    for (const [name, value] of Object.entries(accepted.get(incoming)?.headers ?? {})) {
      lines.push(`${name}: ${value}`);
    }
  });
  const refuse = (incoming: IncomingMessage, socket: Duplex, failed: Failure): void =>
    options.answer(socket, options.refuse(failed, incoming.headers.origin ?? null));
  sockets.on('wsClientError', ({ message }, socket, incoming) => {
    refuse(
      incoming,
      socket,
      failure('malformed_request', { message: `The upgrade is not valid: ${message}.` }),
    );
  });
  server.on('upgrade', (incoming, socket, head) => {
    socket.on('error', () => socket.destroy());
    const refused = options.refusalOf(incoming);
    if (refused !== null) {
      refuse(incoming, socket, refused);
      return;
    }
    void ask(incoming, socket, head);
  });
  const ask = async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const left = leavingOf(socket);
    const asked = await options.upgrades()?.ask({
      path: pathOf(incoming),
      headers: headersOf(incoming),
      connectionInfo: connectionInfoOf(incoming, null),
      signal: left.signal,
    });
    left.stop();
    if (asked === undefined) socket.destroy();
    else if (asked instanceof Response) options.answer(socket, asked);
    else complete(asked, incoming, socket, head);
  };
  const complete = (
    asked: AcceptedUpgrade,
    incoming: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void => {
    accepted.set(incoming, asked);
    let isOpen = false;
    sockets.handleUpgrade(incoming, socket, head, (ws) => {
      isOpen = true;
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      options.onUpgraded(incoming.socket);
      asked.open(ws, socket);
    });
    if (!isOpen) asked.giveUp();
  };
  return () => {
    for (const socket of open) socket.destroy();
  };
};

/** Watches whether the client leaves. What it sends is not read: that is for the WebSocket. */
const leavingOf = (socket: Duplex): { readonly signal: AbortSignal; stop(): void } => {
  const controller = new AbortController();
  const leave = (): void => controller.abort();
  const look = (): void => {
    // The end of the stream is seen only by reading.
    if (socket.readableLength === 0) socket.read();
  };
  socket.once('close', leave).once('end', leave).on('readable', look);
  return {
    signal: controller.signal,
    stop: () => void socket.off('close', leave).off('end', leave).off('readable', look),
  };
};

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
};
