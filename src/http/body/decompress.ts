import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  type BrotliDecompress,
  type Gunzip,
  type Inflate,
  type ZstdDecompress,
} from 'node:zlib';

import { failure, gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/quote.ts';
import { Slots } from '../../kit/async/slots.ts';

type Decoder = Transform & (BrotliDecompress | Gunzip | Inflate | ZstdDecompress);

/** What is counted between two looks at the limit. */
const chunkSize = 64 * 1024;
/** 8 MB, as HTTP allows: a frame may ask for much more memory than its content takes. */
const params = { [constants.ZSTD_d_windowLogMax]: 23 };

const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => createGunzip({ chunkSize })],
  ['x-gzip', () => createGunzip({ chunkSize })],
  ['deflate', () => createInflate({ chunkSize })],
  ['br', () => createBrotliDecompress({ chunkSize })],
  ['zstd', () => createZstdDecompress({ chunkSize, params })],
]);

/** Of the whole process: each has a window of up to 16 MB, and a thread of the four that also read files. */
const decoding = new Slots(2);

/**
 * A body as it was before it was compressed. `onBytes` hears of every piece, and ends it all by throwing. Callers take
 * turns: a few bytes of one of them can be work for a while.
 */
export type Decompress = (
  bytes: Uint8Array,
  onBytes: (bytes: number) => void,
  caller: string,
) => Promise<Buffer>;

/**
 * How the body of a request is made readable; null where it was sent as it is. Decoders get bodies that are
 * there to their end, so none of them waits for a client.
 */
export const decompressorOf = (request: Request): Decompress | null => {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return null;
  const open = DECODERS.get(encoding);
  if (open === undefined) {
    throw gatewayError('unsupported_value', {
      message: `Unsupported content encoding: '${quoted(encoding)}'. Use one of ${[...DECODERS.keys()].join(', ')}, or none.`,
    });
  }
  return (bytes, onBytes, caller) =>
    decoding.run(() => decode(open(), { bytes, onBytes, encoding }), request.signal, caller);
};

const decode = async (
  decoder: Decoder,
  { bytes, onBytes, encoding }: { bytes: Uint8Array; onBytes: (bytes: number) => void; encoding: string },
): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  try {
    decoder.end(bytes);
    // Leaving the loop ends the decoder: what is too much is not made.
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      onBytes(chunk.byteLength);
      chunks.push(chunk);
    }
    // Bytes after the end of the content would be lost silently.
    if (decoder.bytesWritten !== bytes.byteLength) throw new Error('more follows');
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const message = `The request body is not a complete ${encoding} stream, although its content-encoding says so.`;
    throw new GatewayError(failure('invalid_json', { message }), { cause: error });
  }
  return Buffer.concat(chunks);
};
