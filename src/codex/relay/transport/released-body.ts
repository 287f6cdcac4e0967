import { Readable } from 'node:stream';

/** Below this nobody minds that a body is kept until its answer has ended. */
const SMALL_BYTES = 64 * 1024;

/**
 * A body that is forgotten as soon as the socket has it. The HTTP client keeps a buffer that it is handed
 * until the answer has ended, and an answer may take minutes. It must be told the length beside it.
 */
export const releasedBody = (bytes: Uint8Array): Uint8Array | Readable =>
  bytes.length <= SMALL_BYTES ? bytes : Readable.from(handedOver([bytes]), { objectMode: false });

async function* handedOver(held: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let next = held.pop(); next !== undefined; next = held.pop()) yield next;
}
