import type { Duplex } from 'node:stream';

import { WebSocket } from 'ws';

import { WritePace } from '../answer/sse-response.ts';

/** Above this, what waits for the client slows its turns down. */
const HIGH_WATER_BYTES = 1024 * 1024;
/** So much is written without waiting for more. */
const FLUSH_BYTES = 64 * 1024;

/** Writes messages to a WebSocket. Those that are ready together go out in one write. */
export class SocketWriter {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #pace = new WritePace();
  /** Cancels the scheduled write; null: nothing is held back. */
  #due: (() => void) | null = null;
  #drained: Promise<void> | null = null;

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
  }

  /** A text message. Dropped if the socket is closing. */
  send(message: string | Uint8Array): void {
    if (this.#ws.readyState !== WebSocket.OPEN) return;
    if (this.#due === null) {
      this.#socket.cork();
      this.#due = this.#pace.soon(() => this.flush());
    }
    this.#ws.send(message, { binary: false });
    if (this.#socket.writableLength > FLUSH_BYTES) this.flush();
  }

  flush(): void {
    if (this.#due === null) return;
    this.#due();
    this.#due = null;
    this.#pace.flushed();
    this.#socket.uncork();
  }

  /** Whether the client is so far behind that nothing should be written before `drained`. */
  get isFull(): boolean {
    return this.#socket.writableLength > HIGH_WATER_BYTES;
  }

  /** Resolves when the client has read what was written, or has left. */
  drained(): Promise<void> {
    this.flush();
    if (!this.isFull || this.#socket.destroyed) return Promise.resolve();
    this.#drained ??= new Promise((resolve) => {
      const end = (): void => {
        this.#socket.off('drain', end);
        this.#socket.off('close', end);
        this.#drained = null;
        resolve();
      };
      this.#socket.on('drain', end);
      this.#socket.on('close', end);
    });
    return this.#drained;
  }
}
