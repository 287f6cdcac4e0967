import { Readable } from 'node:stream';

/** Smaller bodies may be kept until their answer has ended. */
const SMALL_BYTES = 64 * 1024;

/** A body that is released when the socket has it: the HTTP client keeps buffers until the answer has ended. */
export const releasedBody = (bytes: Uint8Array): Uint8Array | Readable =>
  bytes.length <= SMALL_BYTES ? bytes : Readable.from(handedOver([bytes]), { objectMode: false });

async function* handedOver(held: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let next = held.pop(); next !== undefined; next = held.pop()) yield next;
}
