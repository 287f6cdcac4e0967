import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Keeps file descriptors free for the server itself: without one it can neither start an app-server nor reach a
 * backend. At the limit, connections without a request give way. Other connections above it get an error for their first
 * request; above that they are closed at once.
 */
export interface ConnectionLimit {
  /** Whether a request on this connection has to be refused. */
  isExcess(socket: Socket): boolean;
}

/** A turn needs about two descriptors besides that of its client: the app-server's connection and the backend's. */
const CLIENTS_SHARE = 0.5;
/** How many connections above the limit, as a share of it, may wait for their error. */
const EXCESS_SHARE = 0.125;
/** How long such a connection has to send its request. */
const EXCESS_MS = 2_000;

/** A client sends its request as soon as it is connected. Without one, a connection of this age gives way to others. */
const SILENT_MS = 2_000;

export const limitConnections = (
  server: Server,
  maxClients: number | null,
  silentMs = SILENT_MS,
): ConnectionLimit => {
  const excess = new WeakSet<Socket>();
  if (maxClients === null) return { isExcess: () => false };
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
  return { isExcess: (socket) => excess.has(socket) };
};

/** Connections on which no request is under way, those first that have been silent longest. */
const trackSilent = (server: Server): { oldest(minMs: number): Socket | null } => {
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
    oldest(minMs) {
      for (const [socket, at] of since) {
        if (socket.destroyed) continue;
        return performance.now() - at >= minMs ? socket : null;
      }
      return null;
    },
  };
};

/** How many clients the descriptors of this process allow; null where they are unlimited or unknown. */
export const maxClientsOf = (limits: string): number | null => {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? null : Math.max(1, Math.floor(Number(soft) * CLIENTS_SHARE));
};

/** The limits of this process, as Linux states them; empty on other systems. */
export const processLimits = (): string => {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
};
