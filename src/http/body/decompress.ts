import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';

import { failure, gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';
import { Slots } from '../../kit/async/limiter.ts';

type Decoder = Transform & { readonly bytesWritten: number };

/** Bytes between two checks of the limit. */
const chunkSize = 64 * 1024;
/** 8 MB, the limit for HTTP: a frame may ask for much more memory than its content takes. */
const params = { [constants.ZSTD_d_windowLogMax]: 23 };

const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => createGunzip({ chunkSize })],
  ['x-gzip', () => createGunzip({ chunkSize })],
  ['deflate', () => createInflate({ chunkSize })],
  ['br', () => createBrotliDecompress({ chunkSize })],
  ['zstd', () => createZstdDecompress({ chunkSize, params })],
]);

/** For the whole process: each uses a window of up to 16 MB, and one of the four threads that also read files. */
const decoding = new Slots(2);

/** Decompresses a body. `onBytes` receives the size of every piece, and cancels by throwing. Callers take turns. */
export type Decompress = (
  bytes: Uint8Array,
  onBytes: (bytes: number) => void,
  caller: string,
) => Promise<Buffer>;

/**
 * The decompressor for a request's content encoding; null if there is none. Decoders get complete bodies, so none of
 * them waits for a client.
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
    // Leaving the loop destroys the decoder before it produces more.
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      onBytes(chunk.byteLength);
      chunks.push(chunk);
    }
    // Trailing bytes would be lost silently.
    if (decoder.bytesWritten !== bytes.byteLength) throw new Error('more follows');
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const message = `The request body is not a complete ${encoding} stream, although its content-encoding says so.`;
    throw new GatewayError(failure('invalid_json', { message }), { cause: error });
  }
  return Buffer.concat(chunks);
};
