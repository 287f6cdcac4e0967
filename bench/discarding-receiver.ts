import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An OTLP receiver that keeps nothing. */
export const startDiscarding = async (): Promise<{ readonly url: string; close(): Promise<void> }> => {
  const server = createServer((incoming, outgoing) => {
    incoming
      .resume()
      .on('end', () => outgoing.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
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
