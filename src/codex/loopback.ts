import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Loopback {
  /** Base of its URLs, without a trailing slash. Contains a secret. */
  readonly origin: string;
  close(): Promise<void>;
}

export interface LoopbackOptions extends Pick<ServerOptions, 'requestTimeout'> {
  /** `path` follows the origin, without the slash. */
  readonly serve: (path: string, incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
  /** Called if `serve` threw; the connection was closed. */
  readonly onError: (error: unknown, incoming: IncomingMessage) => void;
}

/** codex pools idle connections and must be the side that closes them. */
const KEEP_ALIVE_MS = 120_000;
/** Logins carry long tokens, and codex adds metadata. */
const MAX_HEADER_BYTES = 128 * 1024;

/** A local server for codex: reachable only from this machine, and only with the secret in its URL. */
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
  // A connection that could not be accepted (EMFILE) must not end our process: the peer sees the failure.
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

/** A random string that is safe in a path. */
export const newSecret = (): string => randomBytes(24).toString('base64url');

/** The part of a request path after `/secret/`; null without the right secret. */
const pathAfterSecret = (secret: string, url: string): string | null => {
  const prefix = Buffer.from(`/${secret}/`);
  const given = Buffer.from(url).subarray(0, prefix.length);
  // Constant time, so that timing reveals nothing about the secret.
  if (given.length !== prefix.length || !timingSafeEqual(given, prefix)) return null;
  return url.slice(prefix.length);
};
