import type { IncomingHttpHeaders } from 'node:http';

import type { WebSocket } from 'ws';

import type { SocketMessage } from './frame.ts';

/** The user of a socket. */
export interface SocketListener {
  onText(data: Buffer): void;
  onPing(): void;
  /** The socket is gone; `code` is that of WebSocket, 1006 if the connection was cut. */
  onClose(code: number): void;
}

/** Smaller messages are not compressed: that would take longer than sending them. */
const COMPRESSED_BYTES = 8 * 1024;
/** Larger messages are sent in fragments: a pong, which a fragment delays, must not be late on a slow line. */
const FRAGMENT_BYTES = 128 * 1024;
const PONG_TIMEOUT_MS = 10_000;

/** A socket that ends at its first use, before this and without any message, was not accepted. */
const NEW_MS = 10_000;

/** Whether a socket was opened just now. */
export const isNew = ({ openedAt }: BackendSocket, nowMs: number): boolean => nowMs - openedAt < NEW_MS;

/** A socket to the backend that serves one answer at a time. */
export class BackendSocket {
  readonly #ws: WebSocket;
  #listener: SocketListener;
  #pongTimer: NodeJS.Timeout | null = null;
  /** The headers of the 101. */
  readonly head: IncomingHttpHeaders;
  readonly openedAt: number;
  /** Whether it waited idle before its first use. */
  hasWaited = false;
  /** How many answers it was used for. */
  uses = 0;
  isOpen = true;

  constructor(ws: WebSocket, head: IncomingHttpHeaders, openedAt: number, listener: SocketListener) {
    this.#ws = ws;
    this.#listener = listener;
    this.head = head;
    this.openedAt = openedAt;
    ws.on('message', (data, isBinary) => {
      if (isBinary || !Buffer.isBuffer(data)) this.close();
      else this.#listener.onText(data);
    });
    ws.on('ping', () => this.#listener.onPing());
    ws.on('pong', () => this.#stopPongTimer());
    ws.on('error', () => {});
    ws.on('close', (code) => this.#closed(code));
  }

  listen(listener: SocketListener): void {
    this.#listener = listener;
  }

  /** Rejects if the socket breaks before everything is written. */
  async send({ parts, bytes }: SocketMessage): Promise<void> {
    if (bytes <= FRAGMENT_BYTES) {
      await this.#write(Buffer.concat(parts), true, bytes >= COMPRESSED_BYTES);
      return;
    }
    let left = bytes;
    for (const part of parts) {
      for (let at = 0; at < part.length; at += FRAGMENT_BYTES) {
        const fragment = part.subarray(at, at + FRAGMENT_BYTES);
        left -= fragment.length;
        // Each waits for the one before, so that a pong is never behind more than one.
        await this.#write(fragment, left === 0, true);
      }
    }
  }

  /** Drops the socket unless a pong arrives in time: a network may die without a sign. */
  ping(): void {
    if (this.#pongTimer !== null || !this.isOpen) return;
    this.#pongTimer = setTimeout(() => this.#drop(), PONG_TIMEOUT_MS).unref();
    this.#ws.ping();
  }

  /** Stops reading. Pings are not answered meanwhile. */
  pause(): void {
    this.#ws.pause();
  }

  resume(): void {
    this.#ws.resume();
  }

  /** The connection is cut if the other side does not answer in time. */
  close(): void {
    this.isOpen = false;
    this.#stopPongTimer();
    // A paused socket would not see the answer.
    if (this.#ws.isPaused) this.#ws.terminate();
    else this.#ws.close();
  }

  #write(data: Uint8Array, isLast: boolean, isCompressed: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#ws.send(data, { binary: false, fin: isLast, compress: isCompressed }, (error) =>
        error === undefined || error === null ? resolve() : reject(error),
      );
    });
  }

  #drop(): void {
    this.#ws.terminate();
  }

  #stopPongTimer(): void {
    if (this.#pongTimer !== null) clearTimeout(this.#pongTimer);
    this.#pongTimer = null;
  }

  #closed(code: number): void {
    this.isOpen = false;
    this.#stopPongTimer();
    this.#listener.onClose(code);
  }
}
