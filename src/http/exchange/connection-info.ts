import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { isLoopbackAddress } from '../guards/local-caller.ts';

/** A body arrives not at all, or far too slowly. */
export type Stall = 'silent' | 'slow';

/** Facts about the connection of a request that a `Request` does not contain. */
/** Where the peer of a connection is. */
export interface PeerPlace {
  /** Whether the peer is on this machine; it may be a reverse proxy. */
  readonly isFromLoopback: boolean;
  /** The address and port at which a peer on this machine reached this server; null: the peer is on another one. */
  readonly localAddress: string | null;
}

export interface ConnectionInfo extends PeerPlace {
  /**
   * Calls the listener once if the client sends nothing of its body, or less than the minimum rate, for this long. Only
   * time counts in which the body is being read.
   */
  onStall(timeoutMs: number, listener: (why: Stall) => void): () => void;
  /** The address of the peer, which may be a reverse proxy; empty if the connection is closed. */
  readonly address: string;
  /** Calls the listener once when the client has taken the whole answer, or the connection is gone. */
  onTaken(listener: () => void): void;
  /** Ends the connection: the rest of the answer is dropped. */
  cut(): void;
}

/** Far below any usable network, and enough to make holding a connection costly. */
export const MIN_UPLOAD_BYTES_PER_SECOND = 1_024;

/** Checks per timeout. */
const LOOKS = 5;

/** The address of one end of a connection, the same for both families: `127.0.0.1:11435`. */
export const socketAddress = (address: string | undefined, port: number | undefined): string | null =>
  address === undefined || port === undefined ? null : `${address.replace(/^::ffff:/i, '')}:${port}`;

/** A peer with an address of this machine has it at both ends of its connection. */
const localAddressOf = ({ remoteAddress, localAddress, localPort }: Socket): string | null =>
  isLoopbackAddress(remoteAddress ?? '') || remoteAddress === localAddress
    ? socketAddress(localAddress, localPort)
    : null;

/** `outgoing` is null for a connection that is upgraded. */
export const connectionInfoOf = (
  incoming: IncomingMessage,
  outgoing: ServerResponse | null,
): ConnectionInfo => ({
  address: incoming.socket.remoteAddress ?? '',
  isFromLoopback: isLoopbackAddress(incoming.socket.remoteAddress ?? ''),
  localAddress: localAddressOf(incoming.socket),
  onTaken(listener) {
    const { socket } = incoming;
    if (socket.destroyed || outgoing === null) {
      listener();
      return;
    }
    const taken = (): void => {
      socket.off('close', taken);
      outgoing.off('close', taken);
      listener();
    };
    // A response that waits behind another one on its connection has no `close` of its own.
    socket.on('close', taken);
    outgoing.on('close', taken);
  },
  cut: () => incoming.socket.destroy(),
  onStall(timeoutMs, listener) {
    const needed = (MIN_UPLOAD_BYTES_PER_SECOND * timeoutMs) / 1000;
    let seen = incoming.socket.bytesRead;
    /** Bytes received before each of the last checks, while reading. */
    let came: readonly number[] = [];
    const look = (): void => {
      if (incoming.complete || incoming.destroyed) {
        stop();
        return;
      }
      const { bytesRead } = incoming.socket;
      // Bytes that the proxy has not read yet are not the client's delay. An untouched body is being awaited too.
      const isAwaited = incoming.readableFlowing === true && incoming.readableLength === 0;
      came = isAwaited ? [...came, bytesRead - seen].slice(-LOOKS) : [];
      seen = bytesRead;
      const total = came.reduce((sum, bytes) => sum + bytes, 0);
      if (came.length < LOOKS || total >= needed) return;
      stop();
      listener(total === 0 ? 'silent' : 'slow');
    };
    const timer = setInterval(look, Math.max(timeoutMs / LOOKS, 1));
    timer.unref();
    const stop = (): void => clearInterval(timer);
    return stop;
  },
});
