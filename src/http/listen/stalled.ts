import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * As long as reverse proxies usually wait for a client that does not read. Node checks again if a write
 * was in progress, so the real limit may be twice as long.
 */
const STALL_MS = 60_000;

/**
 * Ends connections whose client has taken nothing of what waits for it for so long: it would hold on for
 * ever to what its request and its answer hold. A client that waits for us is let alone.
 */
export const endStalled = (server: Server, stallMs = STALL_MS): void => {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', (incoming, outgoing) => answers.set(incoming.socket, outgoing));
  // Node tells of any connection on which nothing moved, in either direction.
  server.setTimeout(stallMs, (socket) => {
    const isAnswering = answers.get(socket)?.writableFinished === false;
    if (!isAnswering || socket.writableLength > 0) socket.destroy();
  });
};
