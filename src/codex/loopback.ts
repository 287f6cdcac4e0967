import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Loopback {
  /** Where its paths begin, without a slash at the end. It cannot be guessed. */
  readonly origin: string;
  close(): Promise<void>;
}

export interface LoopbackOptions extends Pick<ServerOptions, 'requestTimeout'> {
  /** `path` is what stands behind the origin, without its slash. */
  readonly serve: (path: string, incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
  /** Serving it threw, and it was cut off. */
  readonly onError: (error: unknown, incoming: IncomingMessage) => void;
}

/** codex keeps idle connections for a while: it must be the one who closes them. */
const KEEP_ALIVE_MS = 120_000;
/** Logins carry long tokens, and codex adds metadata. */
const MAX_HEADER_BYTES = 128 * 1024;

/** A server of ours for codex: only this machine reaches it, and only who was told its address is heard. */
export const startLoopback = async ({ serve, onError, ...options }: LoopbackOptions): Promise<Loopback> => {
  const secret = newSecret();
  const limits = { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS, ...options };
  const server = createServer(limits, (incoming, outgoing) => {
    const path = pathAfterSecret(secret, incoming.url ?? '');
    if (path === null) {
      notFound(outgoing);
      return;
    }
    serve(path, incoming, outgoing).catch((error: unknown) => {
      outgoing.destroy();
      onError(error, incoming);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A connection that could not be accepted (EMFILE) must not end our process: whoever wanted it sees that it failed.
  server.on('error', () => {});
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}`,
    async close() {
      if (!server.listening) return;
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
    },
  };
};

export const notFound = (outgoing: ServerResponse): void =>
  void outgoing.writeHead(404, { connection: 'close' }).end();

/** Something that cannot be guessed and may stand in a path. */
export const newSecret = (): string => randomBytes(24).toString('base64url');

/** What stands behind `/secret/` in the path of a request; null for anybody who does not know the secret. */
const pathAfterSecret = (secret: string, url: string): string | null => {
  const prefix = Buffer.from(`/${secret}/`);
  const given = Buffer.from(url).subarray(0, prefix.length);
  // In constant time: how much of a guess is right must not be seen.
  if (given.length !== prefix.length || !timingSafeEqual(given, prefix)) return null;
  return url.slice(prefix.length);
};
