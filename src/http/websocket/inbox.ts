import type { Duplex } from 'node:stream';

import type { RawData, WebSocket } from 'ws';

import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { HeldBytes } from '../../turns/body-budget.ts';

/** A message of the client, and the room that it takes. */
export interface Received {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

export interface InboxOptions {
  /** Called with one message after the other, each when the one before it was dealt with. */
  readonly onMessage: (message: Received) => Promise<void>;
  /** The message that is arriving cannot be read to its end. */
  readonly onRefused: (error: GatewayError) => void;
  /** Opens the room for a message that is arriving. */
  readonly openHeld: (onYield: (error: GatewayError) => void) => HeldBytes;
  readonly now: () => number;
}

/** A message that arrives at once needs no room before it is read. */
const AT_ONCE_BYTES = 64 * 1024;

/** Reads the messages of a WebSocket in their order, no faster than they are dealt with. */
export class Inbox {
  readonly #ws: WebSocket;
  readonly #options: InboxOptions;
  readonly #messages: Received[] = [];
  #isBusy = false;
  /** Bytes of the message that is arriving. */
  #arriving = 0;
  #hasMessage = false;
  #held: HeldBytes | null = null;
  #lastDataAt: number;

  constructor(ws: WebSocket, socket: Duplex, options: InboxOptions) {
    this.#ws = ws;
    this.#options = options;
    this.#lastDataAt = options.now();
    ws.on('message', (data, isBinary) => this.#received(data, isBinary));
    for (const event of ['ping', 'pong'] as const) {
      ws.on(event, () => {
        this.#hasMessage = true;
      });
    }
    // After the listener of `ws`, which emits the messages of a chunk at once.
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk.length));
  }

  /** When the client last sent anything. */
  get lastDataAt(): number {
    return this.#lastDataAt;
  }

  /** Whether a message has arrived in part. */
  get isArriving(): boolean {
    return this.#arriving > 0 && !this.#ws.isPaused;
  }

  /** The connection is closed. */
  close(): void {
    this.#messages.length = 0;
    this.#release();
  }

  #arrived(bytes: number): void {
    this.#lastDataAt = this.#options.now();
    // What follows a message in its chunk is small, and counts from the next chunk on.
    this.#arriving = this.#hasMessage ? 0 : this.#arriving + bytes;
    this.#hasMessage = false;
    if (this.#arriving <= AT_ONCE_BYTES) {
      this.#release();
      return;
    }
    try {
      this.#held ??= this.#options.openHeld(this.#options.onRefused);
      this.#held.grow(this.#arriving - this.#held.bytes);
    } catch (error) {
      this.#release();
      this.#options.onRefused(error as GatewayError);
    }
  }

  #release(): void {
    this.#held?.letGo();
    this.#held = null;
  }

  #received(data: RawData, isBinary: boolean): void {
    this.#hasMessage = true;
    this.#messages.push({ bytes: data as Buffer, isBinary });
    if (!this.#isBusy) void this.#deliver();
  }

  async #deliver(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#messages.shift(); next !== undefined; next = this.#messages.shift()) {
      const delivered = this.#options.onMessage(next);
      // A chunk may have thousands of messages; more is not read meanwhile.
      this.#ws.pause();
      await delivered;
    }
    this.#isBusy = false;
    this.#ws.resume();
  }
}

export const binaryMessage = (): GatewayError =>
  gatewayError('invalid_json', { message: 'Binary messages are not supported: send JSON as text.' });
