import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RoundRobin {
  readonly url: string;
  close(): Promise<void>;
}

/** Forwards a request to the first server that answers. */
const forward = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  body: Buffer,
  [first = '', ...others]: readonly string[],
): void => {
  const { hostname, port } = new URL(first);
  const { method, url, headers } = incoming;
  const asked = request({ hostname, port, method, path: url, headers: { ...headers, connection: 'close' } });
  asked.on('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
    // The server died in the middle of its answer.
    answer.on('error', () => outgoing.destroy());
    outgoing.on('close', () => asked.destroy());
  });
  asked.on('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else if (others.length > 0) forward(incoming, outgoing, body, others);
    else outgoing.writeHead(502).end();
  });
  asked.end(body);
};

/** Forwards each request to the next server. A server that does not answer is skipped. */
export const startRoundRobin = async (urls: readonly string[]): Promise<RoundRobin> => {
  let next = 0;
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    next = (next + 1) % urls.length;
    const to = [...urls.slice(next), ...urls.slice(0, next)];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => forward(incoming, outgoing, Buffer.concat(chunks), to));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
