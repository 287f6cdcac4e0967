import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Forwards TCP connections, and can stop doing so while they stay open. */
export interface Forwarder {
  readonly port: number;
  /** From now on nothing gets through, in either direction. */
  pause(): void;
  resume(): void;
  /** Cuts all connections. */
  cut(): void;
  close(): Promise<void>;
}

export const startForwarder = async (toPort: number): Promise<Forwarder> => {
  const sockets = new Set<Socket>();
  let isPaused = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((from) => {
    const to = keep(connect(toPort, '127.0.0.1'));
    keep(from);
    from.pipe(to);
    to.pipe(from);
    if (isPaused) for (const socket of [from, to]) socket.pause();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    pause() {
      isPaused = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      isPaused = false;
      for (const socket of sockets) socket.resume();
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
