import type { IncomingMessage } from 'node:http';

import { isLoopbackAddress } from '../guards/local-caller.ts';

/** Nothing comes of a body, or far too little. */
export type Stall = 'silent' | 'slow';

/** Facts about the connection of a request that a `Request` does not contain. */
export interface ConnectionInfo {
  /**
   * Calls the listener once if the client sends nothing of its body, or less than the minimum rate, for so long. Only
   * time counts in which the body is being read.
   */
  onStall(timeoutMs: number, listener: (why: Stall) => void): () => void;
  /** Whether the other end of the connection is on this machine; that may be a proxy for others. */
  readonly isFromLoopback: boolean;
}

/** Far below any network that people use, and above what it takes to hold a connection at no cost. */
export const MIN_UPLOAD_BYTES_PER_SECOND = 1_024;

/** How often it is looked whether something came, in the time that a stall may last. */
const LOOKS = 5;

export const connectionInfoOf = (incoming: IncomingMessage): ConnectionInfo => ({
  isFromLoopback: isLoopbackAddress(incoming.socket.remoteAddress ?? ''),
  onStall(timeoutMs, listener) {
    const needed = (MIN_UPLOAD_BYTES_PER_SECOND * timeoutMs) / 1000;
    let seen = incoming.socket.bytesRead;
    /** How much came before each of the last looks, as long as we were waiting for it. */
    let came: readonly number[] = [];
    const look = (): void => {
      if (incoming.complete || incoming.destroyed) {
        stop();
        return;
      }
      const { bytesRead } = incoming.socket;
      // What waits to be read by us does not stall the client's way. A body of which nothing has come is awaited, too.
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
