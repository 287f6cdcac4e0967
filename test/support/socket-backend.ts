import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { WebSocketServer, type WebSocket } from 'ws';

import type { JsonObject } from '../../src/kit/json/json.ts';

/** One message on a socket. */
export interface ReceivedFrame {
  readonly body: JsonObject;
  /** The number of the socket, from 0. */
  readonly socket: number;
}

export interface SocketBackendOptions {
  /** Answers a message. */
  readonly answer?: (ws: WebSocket, frame: ReceivedFrame) => void;
  /** Answers a POST. */
  readonly post?: (response: ServerResponse) => void;
  /** The status of an upgrade, by its number; 101 opens the socket, 0 never answers. */
  readonly upgrade?: (nth: number) => number;
  /** Headers of the 101. */
  readonly head?: Readonly<Record<string, string>>;
}

/** A small backend with both transports. */
export interface SocketBackend {
  readonly origin: string;
  readonly upgrades: IncomingHttpHeaders[];
  readonly frames: ReceivedFrame[];
  readonly posts: { readonly headers: IncomingHttpHeaders; readonly body: JsonObject }[];
  readonly sockets: WebSocket[];
  options: SocketBackendOptions;
  close(): Promise<void>;
}

export const sendEvent = (ws: WebSocket, event: object): void => ws.send(JSON.stringify(event));

/** The events of a short answer, without the one that creates it. */
export const finishAnswer = (ws: WebSocket, text = 'hello'): void => {
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [] };
  sendEvent(ws, { type: 'response.output_text.delta', delta: text });
  sendEvent(ws, { type: 'response.completed', response });
};

export const answerHello = (ws: WebSocket): void => {
  sendEvent(ws, { type: 'response.created', response: { id: 'resp_1' } });
  finishAnswer(ws);
};

const postHello = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('event: response.created\ndata: {"type":"response.created","response":{"id":"resp_2"}}\n\n');
  response.write(
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"posted"}\n\n',
  );
  response.end(
    'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_2","output":[]}}\n\n',
  );
};

export const startSocketBackend = async (options: SocketBackendOptions = {}): Promise<SocketBackend> => {
  const server = createServer();
  const webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: true,
    maxPayload: 32 * 1024 * 1024,
  });
  const open = new Set<Socket>();
  const backend: Omit<SocketBackend, 'origin' | 'close'> = {
    upgrades: [],
    frames: [],
    posts: [],
    sockets: [],
    options,
  };
  webSockets.on('headers', (lines) => {
    for (const [name, value] of Object.entries(backend.options.head ?? {})) lines.push(`${name}: ${value}`);
  });
  server.on('upgrade', (request, socket, head) => {
    const status = backend.options.upgrade?.(backend.upgrades.length) ?? 101;
    backend.upgrades.push(request.headers);
    socket.on('error', () => {});
    if (status === 0) return;
    if (status !== 101) {
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-length: 0\r\nset-cookie: from=refusal\r\nconnection: close\r\n\r\n`,
      );
      return;
    }
    webSockets.handleUpgrade(request, socket, head, (ws) => serve(ws));
  });
  const serve = (ws: WebSocket): void => {
    const socket = backend.sockets.push(ws) - 1;
    ws.on('error', () => {});
    ws.on('message', (data: Buffer) => {
      const frame = { body: JSON.parse(data.toString('utf8')) as JsonObject, socket };
      backend.frames.push(frame);
      (backend.options.answer ?? answerHello)(ws, frame);
    });
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonObject;
      backend.posts.push({ headers: request.headers, body });
      (backend.options.post ?? postHello)(response);
    });
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(backend, {
    origin,
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  });
};
