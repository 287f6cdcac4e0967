import { Readable } from 'node:stream';

/** Smaller bodies may be kept until their answer has ended. */
const SMALL_BYTES = 64 * 1024;

/**
 * The body of a request, which is released when a connection has it: a conversation is large, and its answer may
 * take minutes to begin. A request that is sent again is written again.
 */
export class Payload {
  #bytes: Uint8Array | null;
  readonly size: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  get bytes(): Uint8Array {
    if (this.#bytes === null) throw new Error('a body was sent twice');
    return this.#bytes;
  }

  release(): void {
    this.#bytes = null;
  }

  /** For the HTTP client, which keeps buffers until the answer has ended. */
  get stream(): Uint8Array | Readable {
    return this.size <= SMALL_BYTES ? this.bytes : Readable.from(this.#handedOver(), { objectMode: false });
  }

  async *#handedOver(): AsyncGenerator<Uint8Array> {
    const held = [this.bytes];
    this.release();
    for (let next = held.pop(); next !== undefined; next = held.pop()) yield next;
  }
}
