import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';

import { Inflater, isTooLarge } from './inflater.ts';

/** The frames of a WebSocket (RFC 6455) as its client reads and writes them. */

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
type Opcode = (typeof OPCODE)[keyof typeof OPCODE];

export const CLOSE_CODE = { protocol: 1002, none: 1005, cut: 1006, notUtf8: 1007, tooLarge: 1009 } as const;

/** What the server agreed to; null: messages are not compressed. */
export interface Deflate {
  /** Whether its messages refer to earlier ones. */
  readonly keepsWindow: boolean;
  /** Of what we send. */
  readonly windowBits: number;
}

export interface FrameHandler {
  onMessage(data: Buffer, isText: boolean): void;
  onPing(data: Buffer): void;
  onPong(): void;
  /** The last frame. */
  onCloseFrame(code: number): void;
  /** The server broke the protocol, or its message is too large: nothing more is read. */
  onBroken(code: number): void;
  /** A large message is inflated in another thread; what follows waits. */
  onBusy(isBusy: boolean): void;
}

const MAX_CONTROL_BYTES = 125;
const MAX_FRAGMENTS = 16 * 1024;

class BrokenError extends Error {
  readonly closeCode: number;
  constructor(closeCode: number, message: string) {
    super(message);
    this.closeCode = closeCode;
  }
}

const broken = (message: string): BrokenError => new BrokenError(CLOSE_CODE.protocol, message);
const tooLarge = (): BrokenError => new BrokenError(CLOSE_CODE.tooLarge, 'a message is too large');

interface FrameHead {
  readonly isLast: boolean;
  readonly isCompressed: boolean;
  readonly opcode: number;
  /** Where its payload begins and ends, from the start of the frame. */
  readonly start: number;
  readonly end: number;
}

/**
 * Reads frames. Messages that arrived together are passed on together, without a turn of the event loop or a microtask
 * between them: what reads them gets them as one piece.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #maxBytes: number;
  readonly #inflater: Inflater | null;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** With fewer bytes there is no whole frame. */
  #needed = 2;
  /** The message whose fragments arrive. */
  #message: {
    readonly isText: boolean;
    readonly isCompressed: boolean;
    readonly parts: Buffer[];
    bytes: number;
  } | null = null;
  #isBusy = false;
  #isOver = false;

  constructor(
    handler: FrameHandler,
    options: { readonly deflate: Deflate | null; readonly maxBytes: number },
  ) {
    const { deflate, maxBytes } = options;
    this.#handler = handler;
    this.#maxBytes = maxBytes;
    this.#inflater = deflate === null ? null : new Inflater({ keepsWindow: deflate.keepsWindow, maxBytes });
  }

  push(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#isBusy) this.#read();
  }

  /** Nothing more is passed on. */
  stop(): void {
    this.#isOver = true;
    this.#chunks = [];
    this.#message = null;
  }

  #read(): void {
    if (this.#bytes < this.#needed) return;
    const [first] = this.#chunks;
    const data = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    let at = 0;
    try {
      while (!this.#isOver && !this.#isBusy) {
        const head = this.#headAt(data, at);
        if (typeof head === 'number') {
          this.#needed = head;
          break;
        }
        const payload = data.subarray(at + head.start, at + head.end);
        at += head.end;
        this.#needed = 2;
        if (head.opcode >= OPCODE.close) this.#control(head.opcode, payload);
        else this.#data(head, payload);
      }
    } catch (error) {
      this.#fail(error);
    }
    if (this.#isOver) return;
    const rest = data.subarray(at);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }

  /** The head of the frame there, or how many bytes are needed to know more. */
  #headAt(data: Buffer, at: number): FrameHead | number {
    const left = data.length - at;
    if (left < 2) return 2;
    const [first = 0, second = 0] = [data[at], data[at + 1]];
    if ((second & 0x80) !== 0) throw broken('a server masks nothing');
    const short = second & 0x7f;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (left < start) return start;
    const length =
      short === 126 ? data.readUInt16BE(at + 2) : short === 127 ? longLength(data, at + 2) : short;
    const head = {
      isLast: (first & 0x80) !== 0,
      isCompressed: (first & 0x40) !== 0,
      opcode: first & 0x0f,
      start,
      end: start + length,
    };
    this.#check(head, (first & 0x30) !== 0);
    return left < head.end ? head.end : head;
  }

  #check({ isLast, isCompressed, opcode, start, end }: FrameHead, isReserved: boolean): void {
    const length = end - start;
    if (isReserved || (isCompressed && this.#inflater === null)) throw broken('a reserved bit');
    if (opcode > OPCODE.pong || (opcode > OPCODE.binary && opcode < OPCODE.close)) throw broken('an opcode');
    if (opcode >= OPCODE.close) {
      const isWrong = !isLast || isCompressed || length > MAX_CONTROL_BYTES;
      if (isWrong || (opcode === OPCODE.close && length === 1)) throw broken('a control frame');
      return;
    }
    const isContinued = opcode === OPCODE.continuation;
    if (isContinued !== (this.#message !== null) || (isContinued && isCompressed)) throw broken('a fragment');
    if ((this.#message?.bytes ?? 0) + length > this.#maxBytes) throw tooLarge();
    if ((this.#message?.parts.length ?? 0) >= MAX_FRAGMENTS) throw tooLarge();
  }

  #control(opcode: number, payload: Buffer): void {
    if (opcode === OPCODE.ping) this.#handler.onPing(payload);
    else if (opcode === OPCODE.pong) this.#handler.onPong();
    else {
      const code = payload.length === 0 ? CLOSE_CODE.none : payload.readUInt16BE(0);
      if (payload.length > 0 && !mayBeSent(code)) throw broken('a close code');
      this.stop();
      this.#handler.onCloseFrame(code);
    }
  }

  #data({ opcode, isLast, isCompressed }: FrameHead, payload: Buffer): void {
    if (this.#message === null && isLast) {
      this.#passOn(payload, opcode === OPCODE.text, isCompressed);
      return;
    }
    this.#message ??= { isText: opcode === OPCODE.text, isCompressed, parts: [], bytes: 0 };
    this.#message.parts.push(payload);
    this.#message.bytes += payload.length;
    if (!isLast) return;
    const { parts, isText, isCompressed: wasCompressed } = this.#message;
    this.#message = null;
    this.#passOn(Buffer.concat(parts), isText, wasCompressed);
  }

  #passOn(payload: Buffer, isText: boolean, isCompressed: boolean): void {
    const data = isCompressed && this.#inflater !== null ? this.#inflater.inflate(payload) : payload;
    if (Buffer.isBuffer(data)) this.#deliver(data, isText);
    else void this.#deliverLater(data, isText);
  }

  #deliver(data: Buffer, isText: boolean): void {
    if (isText && !isUtf8(data)) throw new BrokenError(CLOSE_CODE.notUtf8, 'a text is not UTF-8');
    this.#handler.onMessage(data, isText);
  }

  async #deliverLater(inflating: Promise<Buffer>, isText: boolean): Promise<void> {
    this.#isBusy = true;
    this.#handler.onBusy(true);
    try {
      const data = await inflating;
      this.#isBusy = false;
      if (this.#isOver) return;
      this.#deliver(data, isText);
      this.#read();
      if (!this.#isBusy) this.#handler.onBusy(false);
    } catch (error) {
      this.#isBusy = false;
      if (!this.#isOver) this.#fail(error);
      else if (!isOfServer(error)) throw error;
    }
  }

  #fail(error: unknown): void {
    this.stop();
    this.#handler.onBroken(
      error instanceof BrokenError
        ? error.closeCode
        : isTooLarge(error)
          ? CLOSE_CODE.tooLarge
          : CLOSE_CODE.protocol,
    );
    if (!isOfServer(error)) throw error;
  }
}

/** Whether the server caused it. Otherwise the handler threw it: a bug, which must not go unseen. */
const isOfServer = (error: unknown): boolean => error instanceof BrokenError || isZlibError(error);

/** RFC 6455, 7.4: the others have no meaning, or only one that is never sent. */
const mayBeSent = (code: number): boolean =>
  (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code < 5000);

const isZlibError = (error: unknown): boolean =>
  isTooLarge(error) ||
  (error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('Z_'));

const longLength = (data: Buffer, at: number): number => {
  const length = data.readBigUInt64BE(at);
  return length > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(length);
};

export interface FrameToWrite {
  readonly opcode: Opcode;
  readonly payload: Uint8Array;
  /** Default: true. */
  readonly isLast?: boolean;
  /** Only the first frame of a message says it. */
  readonly isCompressed?: boolean;
}

/** A frame of a client, which is masked. */
export const encodeFrame = ({
  opcode,
  payload,
  isLast = true,
  isCompressed = false,
}: FrameToWrite): Buffer => {
  const { length } = payload;
  const start = length < 126 ? 6 : length < 65_536 ? 8 : 14;
  // Aligned, so that four bytes are masked at a time.
  const offset = (4 - (start % 4)) % 4;
  const whole = Buffer.from(new ArrayBuffer(offset + start + length));
  const frame = whole.subarray(offset);
  frame[0] = (isLast ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode;
  if (length < 126) frame[1] = 0x80 | length;
  else if (length < 65_536) {
    frame[1] = 0x80 | 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 0x80 | 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  const mask = randomBytes(4);
  frame.set(mask, start - 4);
  frame.set(payload, start);
  const words = new Uint32Array(whole.buffer, offset + start, length >> 2);
  const wordMask = new Uint32Array(new Uint8Array(mask).buffer)[0] ?? 0;
  for (let index = 0; index < words.length; index += 1) words[index] = (words[index] ?? 0) ^ wordMask;
  for (let index = length & ~3; index < length; index += 1)
    frame[start + index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return frame;
};
