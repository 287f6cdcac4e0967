import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterEach, describe, expect, it } from 'vitest';

import { until } from '../../../test/support/until.ts';
import { limitConnections, maxClientsOf } from './connection-limit.ts';
import { listen, type Listener } from './listen.ts';

let listener: Listener;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await listener.close();
});

const dial = async (): Promise<Socket> => {
  const socket = connect(Number(new URL(listener.url).port), '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
};

const statusOf = async (socket: Socket): Promise<string | undefined> => {
  socket.write('GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n');
  return /^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1];
};

describe('limitConnections', () => {
  it('answers connections above the limit with an error, and serves those below it', async () => {
    const options = { host: '127.0.0.1', port: 0, maxClients: 8 };
    listener = await listen(() => new Response('served'), options);
    const served: Socket[] = [];
    for (let count = 0; count < 8; count += 1) served.push(await dial());
    const refused = await statusOf(await dial());
    const statuses = await Promise.all(served.map(statusOf));
    expect([refused, statuses, await statusOf(await dial())]).toEqual([
      '503',
      served.map(() => '200'),
      '200',
    ]);
  });

  it('closes connections far above the limit at once, and idle ones soon', async () => {
    listener = await listen(() => new Response('served'), { host: '127.0.0.1', port: 0, maxClients: 8 });
    const silent: Socket[] = [];
    for (let count = 0; count < 20; count += 1) silent.push((await dial()).resume());
    await until(() => silent.filter((socket) => socket.closed).length >= 12);
    expect(silent.map((socket) => socket.closed)).toEqual(silent.map((_, index) => index >= 8));
  });

  it('closes the longest idle connection without a request to serve a new one', async () => {
    const held = Promise.withResolvers<void>();
    const server = createServer((_, response) => void held.promise.then(() => response.end()));
    limitConnections(server, 3, 0);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    listener = {
      url: `http://127.0.0.1:${port}`,
      stop() {},
      close: async () => {
        server.close();
        server.closeAllConnections();
      },
    };
    const busy = await dial();
    const status = statusOf(busy);
    await once(server, 'request');
    const silent = [await dial(), await dial()];
    for (const socket of silent) socket.resume();
    const served = statusOf(await dial());
    await once(server, 'request');
    await until(() => silent.some((socket) => socket.closed));
    held.resolve();
    expect([await status, await served, silent.map((socket) => socket.closed)]).toEqual([
      '200',
      '200',
      [true, false],
    ]);
  });
});

describe('maxClientsOf', () => {
  it('is half of the descriptors, and unlimited if unknown', () => {
    const line = (soft: string): string => `Limit Soft\nMax open files            ${soft}    4096   files\n`;
    expect([line('256'), line('1'), line('unlimited'), ''].map(maxClientsOf)).toEqual([128, 1, null, null]);
  });
});
