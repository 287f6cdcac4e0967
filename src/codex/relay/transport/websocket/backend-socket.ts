import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';

import type { SocketMessage } from './frame.ts';
import { CLOSE_CODE, encodeFrame, FrameReader, OPCODE, type Deflate, type FrameToWrite } from './wire.ts';

/** The user of a socket. */
export interface SocketListener {
  onText(data: Buffer): void;
  onPing(): void;
  /** The socket is gone; `code` is that of WebSocket, 1006 if the connection was cut. */
  onClose(code: number): void;
}

/** A connection that the backend has made a WebSocket. */
export interface UpgradedConnection {
  readonly connection: Duplex;
  /** The headers of the 101. */
  readonly head: IncomingHttpHeaders;
  /** What arrived together with them. */
  readonly received: Buffer;
  readonly deflate: Deflate | null;
}

/** Smaller messages are not compressed: that would take longer than sending them. */
const COMPRESSED_BYTES = 8 * 1024;
/** Larger messages are sent in fragments: a pong, which a fragment delays, must not be late on a slow line. */
const FRAGMENT_BYTES = 128 * 1024;
/** zlib has no smaller window. */
const MIN_WINDOW_BITS = 9;
/** Level 1 takes a third of the CPU of the default and leaves a fifth more to send. */
const LEVEL = 1;
/** Ends what is deflated, and is not sent at the end of a message. */
const TRAILER_BYTES = 4;
/** The largest message: the reader of answers skips events of more than 16 MiB and gives up at 32. */
const MAX_MESSAGE_BYTES = 48 * 1024 * 1024;
/** A backend that sends pings and reads nothing is cut. */
const MAX_UNSENT_BYTES = 1024 * 1024;
const PONG_TIMEOUT_MS = 10_000;
/** After this a socket that was closed from here is cut. */
const CLOSE_TIMEOUT_MS = 1_000;

/** A socket that ends at its first use, before this and without any message, was not accepted. */
const NEW_MS = 10_000;

/** Whether a socket was opened just now. */
export const isNew = ({ openedAt }: BackendSocket, nowMs: number): boolean => nowMs - openedAt < NEW_MS;

const deflated = promisify(deflateRaw);
const NOTHING = Buffer.alloc(0);

/** A socket to the backend that serves one answer at a time. */
export class BackendSocket {
  readonly #connection: Duplex;
  readonly #reader: FrameReader;
  readonly #deflate: Deflate | null;
  #listener: SocketListener;
  #pongTimer: NodeJS.Timeout | null = null;
  #closeTimer: NodeJS.Timeout | null = null;
  #closeCode: number = CLOSE_CODE.cut;
  #hasSentClose = false;
  #isPaused = false;
  #isReaderBusy = false;
  /** The headers of the 101. */
  readonly head: IncomingHttpHeaders;
  readonly openedAt: number;
  /** Whether it waited idle before its first use. */
  hasWaited = false;
  /** How many answers it was used for. */
  uses = 0;
  isOpen = true;

  constructor(upgraded: UpgradedConnection, openedAt: number, listener: SocketListener) {
    const { connection, head, received, deflate } = upgraded;
    this.#connection = connection;
    this.#deflate = deflate;
    this.#listener = listener;
    this.head = head;
    this.openedAt = openedAt;
    this.#reader = this.#createReader();
    connection.on('data', (chunk: Buffer) => this.#reader.push(chunk));
    connection.on('end', () => connection.end());
    connection.on('error', () => connection.destroy());
    connection.on('close', () => this.#closed());
    // A turn of the loop later, as everything else: the socket is not known to its pool yet.
    if (received.length > 0) connection.unshift(received);
  }

  listen(listener: SocketListener): void {
    this.#listener = listener;
  }

  /** Rejects if the socket breaks before everything is written. */
  async send({ parts, bytes }: SocketMessage): Promise<void> {
    if (bytes <= FRAGMENT_BYTES) {
      const payload = Buffer.concat(parts);
      const isCompressed = bytes >= COMPRESSED_BYTES && this.#canDeflate;
      await this.#write({
        opcode: OPCODE.text,
        payload: isCompressed ? await this.#deflated(payload, true) : payload,
        isCompressed,
      });
      return;
    }
    let left = bytes;
    let isFirst = true;
    for (const part of parts) {
      for (let at = 0; at < part.length; at += FRAGMENT_BYTES) {
        const fragment = part.subarray(at, at + FRAGMENT_BYTES);
        left -= fragment.length;
        const isLast = left === 0;
        // Each waits for the one before, so that a pong is never behind more than one.
        await this.#write({
          opcode: isFirst ? OPCODE.text : OPCODE.continuation,
          payload: this.#canDeflate ? await this.#deflated(fragment, isLast) : fragment,
          isLast,
          isCompressed: isFirst && this.#canDeflate,
        });
        isFirst = false;
      }
    }
  }

  /** Drops the socket unless a pong arrives in time: a network may die without a sign. */
  ping(): void {
    if (this.#pongTimer !== null || !this.isOpen) return;
    this.#pongTimer = setTimeout(() => this.#connection.destroy(), PONG_TIMEOUT_MS).unref();
    this.#control({ opcode: OPCODE.ping, payload: NOTHING });
  }

  /** Stops reading. Pings are not answered meanwhile. */
  pause(): void {
    this.#isPaused = true;
    this.#connection.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#resume();
  }

  /** The connection is cut if the other side does not answer in time. */
  close(): void {
    this.isOpen = false;
    this.#stopPongTimer();
    // A paused socket would not see the answer.
    if (this.#isPaused) this.#connection.destroy();
    else this.#sendClose(NOTHING);
  }

  #createReader(): FrameReader {
    return new FrameReader(
      {
        onMessage: (data, isText) => {
          if (isText) this.#listener.onText(data);
          else this.close();
        },
        onPing: (payload) => {
          this.#control({ opcode: OPCODE.pong, payload });
          this.#listener.onPing();
        },
        onPong: () => this.#stopPongTimer(),
        onCloseFrame: (code) => {
          this.isOpen = false;
          this.#closeCode = code;
          this.#sendClose(code === CLOSE_CODE.none ? NOTHING : closePayload(code));
          this.#connection.end();
        },
        onBroken: (code) => {
          this.isOpen = false;
          this.#sendClose(closePayload(code));
          this.#connection.end();
        },
        onBusy: (isBusy) => {
          this.#isReaderBusy = isBusy;
          if (isBusy) this.#connection.pause();
          else this.#resume();
        },
      },
      { deflate: this.#deflate, maxBytes: MAX_MESSAGE_BYTES },
    );
  }

  get #canDeflate(): boolean {
    return this.#deflate !== null && this.#deflate.windowBits >= MIN_WINDOW_BITS;
  }

  /** Each fragment by itself: a window of 32 KB would not reach far into the one before. */
  async #deflated(data: Uint8Array, isLast: boolean): Promise<Uint8Array> {
    const windowBits = this.#deflate?.windowBits ?? MIN_WINDOW_BITS;
    const options = { level: LEVEL, windowBits, finishFlush: constants.Z_SYNC_FLUSH };
    const bytes = await deflated(data, options);
    return isLast ? bytes.subarray(0, -TRAILER_BYTES) : bytes;
  }

  #write(frame: FrameToWrite): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) reject(new Error('the socket is closed'));
      else
        this.#connection.write(encodeFrame(frame), (error) =>
          error === undefined || error === null ? resolve() : reject(error),
        );
    });
  }

  #control(frame: FrameToWrite): void {
    if (this.#hasSentClose || !this.#connection.writable) return;
    if (this.#connection.writableLength > MAX_UNSENT_BYTES) this.#connection.destroy();
    else this.#connection.write(encodeFrame(frame));
  }

  #sendClose(payload: Buffer): void {
    this.#control({ opcode: OPCODE.close, payload });
    this.#hasSentClose = true;
    this.#closeTimer ??= setTimeout(() => this.#connection.destroy(), CLOSE_TIMEOUT_MS);
  }

  #resume(): void {
    if (!this.#isPaused && !this.#isReaderBusy) this.#connection.resume();
  }

  #stopPongTimer(): void {
    if (this.#pongTimer !== null) clearTimeout(this.#pongTimer);
    this.#pongTimer = null;
  }

  #closed(): void {
    this.isOpen = false;
    this.#reader.stop();
    this.#stopPongTimer();
    if (this.#closeTimer !== null) clearTimeout(this.#closeTimer);
    this.#listener.onClose(this.#closeCode);
  }
}

const closePayload = (code: number): Buffer => Buffer.from([code >> 8, code & 0xff]);
