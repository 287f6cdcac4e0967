import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect, it } from 'vitest';

import { openConnection } from './connection.ts';

it('ends at once if the caller disconnected while its request was read', async () => {
  const outcome = Promise.withResolvers<readonly unknown[]>();
  const server = createServer((incoming, response) => {
    response.once('close', () => {
      const { connection, ended } = openConnection({ body: {}, headers: incoming.headers }, response);
      const hung = connection.hang();
      outcome.resolve(
        Promise.all([ended, hung.then(() => [connection.closed, connection.signal.aborted] as const)]),
      );
    });
    request.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  request.on('error', () => {});
  expect(await outcome.promise).toEqual(['aborted', [true, true]]);
  server.close();
});
