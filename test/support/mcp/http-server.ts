import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

import type { JsonObject } from '../../../src/kit/json/json.ts';
import type { TestCertificates } from '../../chatgpt/certificate.ts';
import { createToolServer } from './tools.ts';

export interface HttpOptions {
  /** If set, it is served by https. */
  readonly certificates?: TestCertificates;
  /** If set, requests without it get 401. */
  readonly token?: string;
  /** `json`: answers are JSON, not streams. */
  readonly answers?: 'stream' | 'json';
  /** Delay before the answer to each request. */
  readonly delayMs?: number;
  /**
   * `silent`: never answers. `broken`: 500. `redirects`: to another path of its own. `cuts`: closes
   * connections.
   */
  readonly mood?: 'well' | 'silent' | 'broken' | 'redirects' | 'cuts';
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Answered or aborted. */
  isOver(): boolean;
}

export interface HttpMcpServer {
  /** URL of its endpoint. */
  readonly url: string;
  readonly origin: string;
  readonly requests: readonly SeenRequest[];
  /** The JSON-RPC methods of the messages that its sessions received. */
  readonly messages: readonly string[];
  /** Number of sessions that were not ended. */
  sessions(): number;
  /** From the next request on. */
  become(mood: NonNullable<HttpOptions['mood']>): void;
  close(): Promise<void>;
}

type Handler = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

const serve = ({ certificates }: HttpOptions, handler: Handler): ReturnType<typeof createServer> =>
  certificates === undefined
    ? createServer(handler)
    : createSecureServer({ key: certificates.key, cert: certificates.certificate }, handler);

/** A streamable-HTTP server of the official SDK, in this process. */
export const startHttpMcp = async (options: HttpOptions = {}): Promise<HttpMcpServer> => {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const requests: SeenRequest[] = [];
  const messages: string[] = [];
  let { mood = 'well' } = options;

  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      enableJsonResponse: options.answers === 'json',
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await createToolServer().connect(transport);
    return transport;
  };

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = incoming;
    requests.push({ method, path: url, headers, isOver: () => outgoing.closed });
    if (mood === 'silent') return;
    if (mood === 'cuts') return void incoming.socket.destroy();
    if (mood === 'broken') return void outgoing.writeHead(500).end('out of order');
    if (mood === 'redirects') return void outgoing.writeHead(307, { location: '/elsewhere' }).end();
    await sleep(options.delayMs ?? 0);
    if (url !== '/mcp') return void outgoing.writeHead(404).end();
    if (options.token !== undefined && headers.authorization !== `Bearer ${options.token}`) {
      return void outgoing.writeHead(401, { 'www-authenticate': 'Bearer' }).end('no');
    }
    const id = headers['mcp-session-id'];
    const session = id === undefined ? await open() : sessions.get(String(id));
    if (session === undefined) return void outgoing.writeHead(404).end();
    const body = method === 'POST' ? ((await json(incoming)) as JsonObject) : undefined;
    if (typeof body?.['method'] === 'string') messages.push(body['method']);
    return session.handleRequest(incoming, outgoing, body);
  };

  const server = serve(options, (incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const scheme = options.certificates === undefined ? 'http' : 'https';
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    requests,
    messages,
    sessions: () => sessions.size,
    become(next) {
      mood = next;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
