import { promisify } from 'node:util';
import { inflateRaw, inflateRawSync, type ZlibOptions } from 'node:zlib';

/** What deflate may refer back to. */
const WINDOW_BYTES = 32 * 1024;
/** The size of the buffer with the end of earlier messages: it is moved to the front only when the buffer is full. */
const KEPT_BYTES = 4 * WINDOW_BYTES;
/** The end of each message, which is not sent, and an empty last block: without it zlib takes a cut message for a whole one. */
const TRAILER = Buffer.from([0x00, 0x00, 0xff, 0xff, 0x01, 0x00, 0x00, 0xff, 0xff]);
/** A message up to this size is inflated at once, unless it becomes larger than this. */
const SMALL_BYTES = 8 * 1024;
const SMALL_INFLATED_BYTES = 256 * 1024;

const inflateElsewhere = promisify(inflateRaw);

/** What zlib returns with `info`, which its types do not know. */
interface Inflated {
  readonly buffer: Buffer;
  /** `bytesWritten`: how much of the input it has read. */
  readonly engine: { readonly bytesWritten: number };
}

/**
 * Inflates the messages of one socket (RFC 7692), each of which may refer to the end of those before it. An answer is
 * many small messages: a stream of Node's takes each to another thread and back, 100 µs of CPU, of which 20 are left
 * here. Large ones still go there, because they would block this thread.
 */
export class Inflater {
  readonly #keepsWindow: boolean;
  readonly #maxBytes: number;
  readonly #kept = Buffer.allocUnsafeSlow(KEPT_BYTES);
  #keptBytes = 0;

  /** `keepsWindow`: whether a message may refer to those before it. Messages of more than `maxBytes` are an error. */
  constructor({ keepsWindow, maxBytes }: { readonly keepsWindow: boolean; readonly maxBytes: number }) {
    this.#keepsWindow = keepsWindow;
    this.#maxBytes = maxBytes;
  }

  /** Throws or rejects if it is not a deflated message, or is too large. One at a time. */
  inflate(message: Buffer): Buffer | Promise<Buffer> {
    // Some servers write nothing for nothing.
    if (message.length === 0) return message;
    const whole = Buffer.concat([message, TRAILER]);
    if (whole.length > SMALL_BYTES) return this.#elsewhere(whole);
    try {
      const inflated: unknown = inflateRawSync(whole, this.#options(SMALL_INFLATED_BYTES));
      return this.#keep(wholeOf(inflated as Inflated, whole));
    } catch (error) {
      if (isTooLarge(error)) return this.#elsewhere(whole);
      throw error;
    }
  }

  async #elsewhere(whole: Buffer): Promise<Buffer> {
    const inflated: unknown = await inflateElsewhere(whole, this.#options(this.#maxBytes));
    return this.#keep(wholeOf(inflated as Inflated, whole));
  }

  #options(maxBytes: number): ZlibOptions {
    return {
      ...(this.#keptBytes === 0
        ? {}
        : { dictionary: this.#kept.subarray(Math.max(0, this.#keptBytes - WINDOW_BYTES), this.#keptBytes) }),
      info: true,
      maxOutputLength: Math.min(maxBytes, this.#maxBytes),
    };
  }

  #keep(inflated: Buffer): Buffer {
    if (!this.#keepsWindow) return inflated;
    const end = inflated.subarray(-WINDOW_BYTES);
    if (this.#keptBytes + end.length > KEPT_BYTES) {
      this.#kept.copyWithin(0, this.#keptBytes - WINDOW_BYTES, this.#keptBytes);
      this.#keptBytes = WINDOW_BYTES;
    }
    end.copy(this.#kept, this.#keptBytes);
    this.#keptBytes += end.length;
    return inflated;
  }
}

/**
 * zlib reads nothing after a last block. RFC 7692 allows more blocks there, but no server is known to write them: of
 * such a message nothing is passed on, instead of its start. The empty block that follows a last one does not count.
 */
const wholeOf = ({ buffer, engine }: Inflated, whole: Buffer): Buffer => {
  const unread = whole.subarray(engine.bytesWritten, -TRAILER.length);
  if (unread.length === 0 || (unread.length === 1 && unread[0] === 0)) return buffer;
  throw Object.assign(new Error('data after the last block'), { code: 'Z_DATA_ERROR' });
};

export const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
