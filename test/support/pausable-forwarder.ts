import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Forwards TCP connections, and can stop doing so while they stay open. */
export interface Forwarder {
  readonly port: number;
  /** From now on nothing gets through, in either direction. */
  pause(): void;
  resume(): void;
  /** How often a connecting side has sent something, after an answer or as the first. */
  readonly roundTrips: number;
  /** How many connections the other side has open. */
  readonly open: number;
  /** Cuts all connections. */
  cut(): void;
  /** Cuts a connection as soon as the other side sends this text, which does not get through. Once; resolves then. */
  cutAt(text: string): Promise<void>;
  close(): Promise<void>;
}

/** For `cutAt`. */
const MAX_TEXT = 100;

export const startForwarder = async (toPort: number): Promise<Forwarder> => {
  const sockets = new Set<Socket>();
  const opened = new Set<Socket>();
  let isPaused = false;
  let cutting: { readonly text: string; readonly done: () => void } | null = null;
  let roundTrips = 0;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((from) => {
    const to = keep(connect(toPort, '127.0.0.1'));
    keep(from);
    opened.add(to);
    to.on('close', () => opened.delete(to));
    let isAsked = false;
    from.on('data', () => {
      if (!isAsked) roundTrips += 1;
      isAsked = true;
    });
    let last = '';
    to.on('data', (chunk: Buffer) => {
      isAsked = false;
      // It may come in two parts.
      last = last.slice(-MAX_TEXT) + chunk.toString('latin1');
      if (cutting === null || !last.includes(cutting.text)) return;
      for (const socket of [from, to]) socket.destroy();
      cutting.done();
      cutting = null;
    });
    from.pipe(to);
    to.pipe(from);
    // No one reads the answers any more, but the other side's end comes after them.
    from.on('close', () => to.resume());
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
    get roundTrips() {
      return roundTrips;
    },
    get open() {
      return opened.size;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    cutAt: (text) => new Promise((done) => (cutting = { text, done })),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
