import type { IncomingMessage } from 'node:http';

import { isLoopbackAddress } from './guards/local-caller.ts';

/** How a request comes in, beside what a `Request` knows of it. */
export interface Arrival {
  /** Told once, if the client stands still for so long while its body is being read. */
  onSilence(timeoutMs: number, listener: () => void): () => void;
  /** Whether the other end of the connection is on this machine; that may be a proxy for others. */
  readonly isFromLoopback: boolean;
}

/** How often it is looked whether something came, in the time that silence may last. */
const LOOKS = 5;

export const arrivalOf = (incoming: IncomingMessage): Arrival => ({
  isFromLoopback: isLoopbackAddress(incoming.socket.remoteAddress ?? ''),
  onSilence(timeoutMs, listener) {
    let bytes = -1;
    let quietLooks = 0;
    const look = (): void => {
      if (incoming.complete || incoming.destroyed) {
        stop();
        return;
      }
      const { bytesRead } = incoming.socket;
      // What waits to be read by us is not the client's silence.
      const isAwaited = incoming.readableDidRead && incoming.readableLength === 0;
      quietLooks = isAwaited && bytesRead === bytes ? quietLooks + 1 : 0;
      bytes = bytesRead;
      if (quietLooks < LOOKS) return;
      stop();
      listener();
    };
    const timer = setInterval(look, Math.max(timeoutMs / LOOKS, 1));
    timer.unref();
    const stop = (): void => clearInterval(timer);
    return stop;
  },
});
