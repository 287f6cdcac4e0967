import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A usual limit of reverse proxies. Node checks again if a write was in progress, so the real limit may be twice that. */
const STALL_MS = 60_000;

/**
 * Closes connections whose client has read nothing for this long although data is waiting: it would hold the memory of
 * its request and answer for ever. A client that waits for the proxy is not affected. Returns a function that watches a
 * connection which was upgraded.
 */
export const endStalled = (server: Server, stallMs = STALL_MS): ((socket: Socket) => void) => {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', (incoming, outgoing) => answers.set(incoming.socket, outgoing));
  // Node reports any connection without traffic in either direction.
  server.setTimeout(stallMs, (socket) => {
    const isAnswering = answers.get(socket)?.writableFinished === false;
    if (!isAnswering || socket.writableLength > 0) socket.destroy();
  });
  return (socket) => {
    // The server does not listen to it any more, and a listener of `setTimeout` is called only once.
    socket.on('timeout', () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    socket.setTimeout(stallMs);
  };
};
