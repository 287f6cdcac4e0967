import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createAdaptorServer } from '@hono/node-server';

export interface Listener {
  readonly url: string;
  /** Take no more connections, and end those that are idle. */
  stop(): void;
  /** End all connections. Resolves when they are gone. */
  close(): Promise<void>;
}

export const listen = async (
  fetch: (http: Request) => Promise<Response> | Response,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listener> => {
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server;
  // Longer than the idle time of usual clients and load balancers, so that they are the ones who
  // close a connection: a request never meets a closing socket.
  server.keepAliveTimeout = 75_000;
  server.listen(port, host);
  await once(server, 'listening');
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
      await closed;
    },
  };
};
