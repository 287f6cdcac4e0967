import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps file descriptors free for the server itself, which needs them to start an app-server and to reach a backend. At
 * the limit, connections without a request are closed. Connections above it get an error for their first request; far
 * above it they are closed at once.
 */
export interface ConnectionLimit {
  /** Whether a request on this connection must be rejected. */
  isExcess(socket: Socket): boolean;
  /** The connection has no requests any more, and is of use without them. */
  upgraded(socket: Socket): void;
}

/** A turn needs about two more descriptors: the app-server's connection and the backend's. */
const CLIENTS_SHARE = 0.5;
/** Connections above the limit that may wait for their error, as a share of it. */
const EXCESS_SHARE = 0.125;
/** Time for such a connection to send its request. */
const EXCESS_MS = 2_000;

/** Clients send a request as soon as they are connected. After this time without one, a connection may be closed. */
const SILENT_MS = 2_000;

export const limitConnections = (
  server: Server,
  maxClients: number | null,
  silentMs = SILENT_MS,
): ConnectionLimit => {
  const excess = new WeakSet<Socket>();
  if (maxClients === null) return { isExcess: () => false, upgraded() {} };
  const silent = trackSilent(server);
  let open = 0;
  server.maxConnections = Math.ceil(maxClients * (1 + EXCESS_SHARE));
  server.on('connection', (socket: Socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open <= maxClients) return;
    const yielding = silent.oldest(silentMs);
    if (yielding !== null && yielding !== socket) {
      yielding.destroy();
      return;
    }
    excess.add(socket);
    const timer = setTimeout(() => socket.destroy(), EXCESS_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  });
  return { isExcess: (socket) => excess.has(socket), upgraded: (socket) => silent.drop(socket) };
};

/** Connections without a current request, the longest idle first. */
const trackSilent = (
  server: Server,
): { oldest(minMs: number): Socket | null; drop(socket: Socket): void } => {
  const since = new Map<Socket, number>();
  const add = (socket: Socket): void => {
    if (!socket.destroyed) since.set(socket, performance.now());
  };
  server.on('connection', (socket: Socket) => {
    add(socket);
    socket.once('close', () => since.delete(socket));
  });
  server.on('request', ({ socket }, outgoing) => {
    since.delete(socket);
    outgoing.once('close', () => add(socket));
  });
  return {
    drop: (socket) => void since.delete(socket),
    oldest(minMs) {
      for (const [socket, at] of since) {
        if (socket.destroyed) continue;
        return performance.now() - at >= minMs ? socket : null;
      }
      return null;
    },
  };
};

/** The number of clients that the process's descriptors allow; null if unlimited or unknown. */
export const maxClientsOf = (limits: string): number | null => {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? null : Math.max(1, Math.floor(Number(soft) * CLIENTS_SHARE));
};

/** The limits of this process on Linux; empty on other systems. */
export const processLimits = (): string => {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
};
