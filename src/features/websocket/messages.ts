import type { Duplex } from 'node:stream';

import { WebSocket, type RawData } from 'ws';

import { DONE } from '../../apis/sse.ts';
import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { WritePace } from '../../http/answer/sse-response.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { jsonBytesSteps, isHeavy } from '../../kit/json/json-writer.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { Frame } from '../../turns/api.ts';
import type { HeldBytes } from '../../turns/body-budget.ts';
import { inLane } from './events.ts';

/** A message of the client, and the room that it takes. */
export interface ClientMessage {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

export interface InboxOptions {
  /** Called with one message after the other, each when the one before it was dealt with. */
  readonly onMessage: (message: ClientMessage) => Promise<void>;
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
  readonly #messages: ClientMessage[] = [];
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

/** Above this, what waits for the client slows its turns down. */
const HIGH_WATER_BYTES = 1024 * 1024;
/** So much is written without waiting for more. */
const FLUSH_BYTES = 64 * 1024;

/** Writes messages to a WebSocket. Those that are ready together go out in one write. */
export class SocketWriter {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #pace = new WritePace(() => this.flush());
  #drained: Promise<void> | null = null;

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
  }

  /** A text message. Dropped if the socket is closing. */
  send(message: string | Uint8Array): void {
    if (this.#ws.readyState !== WebSocket.OPEN) return;
    if (this.#pace.soon()) this.#socket.cork();
    this.#ws.send(message, { binary: false });
    if (this.#socket.writableLength > FLUSH_BYTES) this.flush();
  }

  flush(): void {
    if (!this.#pace.isDue) return;
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

/** Longer events are serialised in slices: a response repeats its request, which may be megabytes. */
const LONG_CHARS = 64 * 1024;

/** Where events are written. */
type EventSink = Pick<SocketWriter, 'send' | 'isFull' | 'drained'>;

/** The events of one response, on its lane, numbered from 0. */
export class ResponseStream {
  readonly streamId: string | null;
  readonly #writer: EventSink;
  readonly #signal: AbortSignal;
  #next = 0;
  /** A long event that is being serialised. */
  #long: Promise<void> | null = null;

  /** Nothing is written once the signal is aborted. */
  constructor(writer: EventSink, streamId: string | null, signal: AbortSignal) {
    this.#writer = writer;
    this.streamId = streamId;
    this.#signal = signal;
  }

  /**
   * Writes a frame of a run. `headers` is what HTTP would say in the head of the answer. Null: there is nothing to wait
   * for before the next one.
   *
   * A failed run ends with one event, `response.failed`, as clients expect it here: after an `error` they take the next
   * event for that of another response.
   */
  frame({ event, data, note }: Frame, headers: Readonly<Record<string, string>>): Promise<void> | null {
    if (data === DONE || event === 'error') return null;
    const all = note === undefined ? headers : { ...headers, ...headerIn(note) };
    return this.event(
      Object.keys(all).length === 0 ? (data as JsonObject) : { ...(data as JsonObject), headers: all },
    );
  }

  /** Writes an event with the next number. */
  event(data: JsonObject): Promise<void> | null {
    if (this.#long !== null) return this.#long.then(() => this.event(data) ?? undefined);
    const numbered = this.#numbered(data);
    if (isHeavy(numbered, LONG_CHARS)) return this.#writeLong(numbered);
    if (!this.#signal.aborted) this.#writer.send(JSON.stringify(numbered));
    return this.#writer.isFull ? this.#writer.drained() : null;
  }

  #numbered(data: JsonObject): JsonObject {
    const number = this.#next;
    this.#next += 1;
    if (this.streamId === null && data['sequence_number'] === number) return data;
    return { ...data, sequence_number: number, ...inLane(this.streamId) };
  }

  async #writeLong(data: JsonObject): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#long = written.promise;
    try {
      const bytes = await runSliced(jsonBytesSteps(data), this.#signal);
      if (!this.#signal.aborted) this.#writer.send(bytes);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      this.#long = null;
      written.resolve();
    }
    await this.#writer.drained();
  }
}

/** A note of a frame is a header that was not known in time for the head. */
const headerIn = (note: string): Readonly<Record<string, string>> => {
  const [name = '', value = ''] = note.split(': ');
  return { [name]: value };
};
