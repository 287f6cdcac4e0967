import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** A host with a port on which nothing listens. */
export const closedHost = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
};
