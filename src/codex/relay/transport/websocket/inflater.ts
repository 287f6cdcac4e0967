import { promisify } from 'node:util';
import { constants, inflateRaw } from 'node:zlib';

/** What deflate may refer back to. */
const WINDOW_BYTES = 32 * 1024;
/** The end of each message, which is not sent. */
const TRAILER = Buffer.from([0x00, 0x00, 0xff, 0xff]);
/** A message up to this size is inflated here, unless it becomes larger than this. */
const SMALL_BYTES = 8 * 1024;
const SMALL_INFLATED_BYTES = 256 * 1024;
/** The size of the buffer between two messages. */
const KEPT_BYTES = 4 * WINDOW_BYTES;

const inflateElsewhere = promisify(inflateRaw);

/**
 * Inflates the messages of one socket (RFC 7692), each of which may refer to the end of those before it. An answer is
 * many small messages. zlib takes 20 µs to begin with one of them, or 100 in a stream of Node's, which takes each to
 * another thread and back; here it takes two. Large ones are left to zlib.
 */
export class Inflater {
  readonly #keepsWindow: boolean;
  readonly #maxBytes: number;
  #output: Buffer = Buffer.allocUnsafeSlow(0);
  /** How much of `#output` is the end of earlier messages. */
  #at = 0;

  /** `keepsWindow`: whether a message may refer to those before it. Messages of more than `maxBytes` are an error. */
  constructor({ keepsWindow, maxBytes }: { readonly keepsWindow: boolean; readonly maxBytes: number }) {
    this.#keepsWindow = keepsWindow;
    this.#maxBytes = maxBytes;
  }

  /** Throws or rejects if it is not a deflated message, or too large. One at a time. */
  inflate(message: Buffer): Buffer | Promise<Buffer> {
    const whole = Buffer.concat([message, TRAILER]);
    this.#makeRoom();
    if (whole.length > SMALL_BYTES) return this.#elsewhere(whole);
    const maxBytes = Math.min(SMALL_INFLATED_BYTES, this.#maxBytes);
    const blocks = new Blocks(whole, this.#output, this.#at, maxBytes);
    if (!blocks.inflate()) return this.#elsewhere(whole);
    const inflated = Buffer.from(blocks.output.subarray(this.#at, blocks.end));
    this.#output = blocks.output;
    this.#at = this.#keepsWindow ? blocks.end : 0;
    return inflated;
  }

  async #elsewhere(whole: Buffer): Promise<Buffer> {
    const dictionary = this.#output.subarray(Math.max(0, this.#at - WINDOW_BYTES), this.#at);
    const inflated = await inflateElsewhere(whole, {
      ...(dictionary.length === 0 ? {} : { dictionary }),
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: this.#maxBytes,
    });
    if (this.#keepsWindow) {
      const end = inflated.subarray(-WINDOW_BYTES);
      this.#makeRoom();
      end.copy(this.#output, this.#at);
      this.#at += end.length;
    }
    return inflated;
  }

  /** Keeps a window, and at least as much free space. */
  #makeRoom(): void {
    if (this.#output.length === KEPT_BYTES && this.#at <= KEPT_BYTES / 2) return;
    const kept = this.#output.subarray(Math.max(0, this.#at - WINDOW_BYTES), this.#at);
    // Smaller again after a message that needed more.
    const output = this.#output.length === KEPT_BYTES ? this.#output : Buffer.allocUnsafeSlow(KEPT_BYTES);
    output.set(kept, 0);
    this.#at = kept.length;
    this.#output = output;
  }
}

class DeflateError extends Error {
  readonly code = 'Z_DATA_ERROR';
}

export const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';

const MAX_BITS = 15;

/** A canonical Huffman code: how many codes have each length, and the symbols in the order of their codes. */
interface Huffman {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

/** `mayBeIncomplete`: a code of one symbol has an unused half. */
const huffmanOf = (lengths: Uint8Array, mayBeIncomplete: boolean): Huffman => {
  const counts = new Uint16Array(MAX_BITS + 1);
  for (const length of lengths) counts[length] = (counts[length] ?? 0) + 1;
  let left = 1;
  for (let length = 1; length <= MAX_BITS; length += 1) {
    left = 2 * left - (counts[length] ?? 0);
    if (left < 0) throw new DeflateError('a code has too many symbols');
  }
  const used = lengths.length - (counts[0] ?? 0);
  if (left > 0 && !(mayBeIncomplete && used <= 1)) throw new DeflateError('a code has too few symbols');
  const offsets = new Uint16Array(MAX_BITS + 2);
  for (let length = 1; length <= MAX_BITS; length += 1)
    offsets[length + 1] = (offsets[length] ?? 0) + (counts[length] ?? 0);
  const symbols = new Uint16Array(lengths.length);
  for (const [symbol, length] of lengths.entries()) {
    if (length === 0) continue;
    const at = offsets[length] ?? 0;
    symbols[at] = symbol;
    offsets[length] = at + 1;
  }
  counts[0] = 0;
  return { counts, symbols };
};

const END_OF_BLOCK = 256;
const MAX_LENGTH_SYMBOLS = 286;
const MAX_DISTANCE_SYMBOLS = 30;

/** The first value of each symbol, and how many bits are added to it (RFC 1951, 3.2.5). */
const rangesOf = (first: number, extraBits: readonly number[]) => {
  const bases = new Uint16Array(extraBits.length);
  let base = first;
  for (const [symbol, bits] of extraBits.entries()) {
    bases[symbol] = base;
    base += 1 << bits;
  }
  return { bases, extra: Uint8Array.from(extraBits) };
};

// oxfmt-ignore
const LENGTHS = rangesOf(3, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]);
// The last one is not the next, but the longest.
LENGTHS.bases[28] = 258;
// oxfmt-ignore
const DISTANCES = rangesOf(1, [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13]);

const FIXED_LENGTHS = huffmanOf(
  Uint8Array.from({ length: 288 }, (_, symbol) =>
    symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8,
  ),
  false,
);
const FIXED_DISTANCES = huffmanOf(new Uint8Array(32).fill(5), false);

/** The order in which the lengths of the code of code lengths are sent. */
const LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15] as const;

/** Reads the blocks of one message (RFC 1951). */
class Blocks {
  readonly #input: Uint8Array;
  readonly #limit: number;
  /** The next byte, and the bits of the one before it that are not read. */
  #next = 0;
  #bits = 0;
  #bitCount = 0;
  /** What is before `end` may be referred to. */
  output: Buffer;
  end: number;

  constructor(input: Uint8Array, output: Buffer, end: number, maxBytes: number) {
    this.#input = input;
    this.#limit = end + maxBytes;
    this.output = output;
    this.end = end;
  }

  /** False: it becomes too large. */
  inflate(): boolean {
    let isLast = false;
    while (!isLast && this.#next < this.#input.length) {
      isLast = this.#read(1) === 1;
      const kind = this.#read(2);
      const isWithin =
        kind === 0
          ? this.#stored()
          : kind === 1
            ? this.#compressed(FIXED_LENGTHS, FIXED_DISTANCES)
            : kind === 2
              ? this.#dynamic()
              : null;
      if (isWithin === null) throw new DeflateError('a block has no kind');
      if (!isWithin) return false;
    }
    return true;
  }

  #read(count: number): number {
    let bits = this.#bits;
    while (this.#bitCount < count) {
      const byte = this.#input[this.#next];
      if (byte === undefined) throw new DeflateError('a block is cut');
      this.#next += 1;
      bits |= byte << this.#bitCount;
      this.#bitCount += 8;
    }
    this.#bits = bits >> count;
    this.#bitCount -= count;
    return bits & ((1 << count) - 1);
  }

  /** The next symbol: codes of the same length are consecutive numbers. */
  #symbol({ counts, symbols }: Huffman): number {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let length = 1; length <= MAX_BITS; length += 1) {
      code |= this.#read(1);
      const count = counts[length] ?? 0;
      if (code - first < count) return symbols[index + code - first] ?? 0;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new DeflateError('a code is unknown');
  }

  #stored(): boolean {
    this.#bits = 0;
    this.#bitCount = 0;
    const length = this.#read(16);
    if (length !== (~this.#read(16) & 0xffff)) throw new DeflateError('a block has two lengths');
    const bytes = this.#input.subarray(this.#next, this.#next + length);
    if (bytes.length < length) throw new DeflateError('a block is cut');
    if (!this.#fits(length)) return false;
    this.output.set(bytes, this.end);
    this.end += length;
    this.#next += length;
    return true;
  }

  #dynamic(): boolean {
    const [lengthCount, distanceCount, sentCount] = [
      this.#read(5) + 257,
      this.#read(5) + 1,
      this.#read(4) + 4,
    ];
    if (lengthCount > MAX_LENGTH_SYMBOLS || distanceCount > MAX_DISTANCE_SYMBOLS)
      throw new DeflateError('a block has too many symbols');
    const sent = new Uint8Array(LENGTH_ORDER.length);
    for (const symbol of LENGTH_ORDER.slice(0, sentCount)) sent[symbol] = this.#read(3);
    const all = this.#codeLengths(huffmanOf(sent, false), lengthCount + distanceCount);
    if (all[END_OF_BLOCK] === 0) throw new DeflateError('a block has no end');
    return this.#compressed(
      huffmanOf(all.subarray(0, lengthCount), true),
      huffmanOf(all.subarray(lengthCount), true),
    );
  }

  #codeLengths(code: Huffman, count: number): Uint8Array {
    const lengths = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const symbol = this.#symbol(code);
      if (symbol < 16) {
        lengths[at] = symbol;
        at += 1;
        continue;
      }
      if (symbol === 16 && at === 0) throw new DeflateError('nothing can be repeated');
      const repeated = symbol === 16 ? (lengths[at - 1] ?? 0) : 0;
      const times =
        symbol === 16 ? 3 + this.#read(2) : symbol === 17 ? 3 + this.#read(3) : 11 + this.#read(7);
      if (at + times > count) throw new DeflateError('a block has too many symbols');
      lengths.fill(repeated, at, at + times);
      at += times;
    }
    return lengths;
  }

  #compressed(lengths: Huffman, distances: Huffman): boolean {
    for (;;) {
      const symbol = this.#symbol(lengths);
      if (symbol === END_OF_BLOCK) return true;
      if (symbol < END_OF_BLOCK) {
        if (!this.#fits(1)) return false;
        this.output[this.end] = symbol;
        this.end += 1;
        continue;
      }
      const length = this.#value(LENGTHS, symbol - END_OF_BLOCK - 1);
      const distance = this.#value(DISTANCES, this.#symbol(distances));
      if (distance > this.end) throw new DeflateError('a distance is too far');
      if (!this.#fits(length)) return false;
      this.#repeat(length, distance);
    }
  }

  #value({ bases, extra }: typeof LENGTHS, symbol: number): number {
    const base = bases[symbol];
    if (base === undefined) throw new DeflateError('a symbol is unknown');
    return base + this.#read(extra[symbol] ?? 0);
  }

  /** What is repeated may be longer than the distance: then it repeats itself. */
  #repeat(length: number, distance: number): void {
    const { output, end } = this;
    if (distance >= length) output.copyWithin(end, end - distance, end - distance + length);
    else for (let at = end; at < end + length; at += 1) output[at] = output[at - distance] ?? 0;
    this.end = end + length;
  }

  /** Makes room for this many bytes more. */
  #fits(count: number): boolean {
    if (this.end + count > this.#limit) return false;
    if (this.end + count > this.output.length) {
      const larger = Buffer.allocUnsafeSlow(2 * this.output.length + count);
      larger.set(this.output.subarray(0, this.end));
      this.output = larger;
    }
    return true;
  }
}
