import type { IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';

import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
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
type Decompress = (bytes: Uint8Array, onBytes: (bytes: number) => void, caller: string) => Promise<Buffer>;

/**
 * The decompressor for a request's content encoding; null if there is none. Decoders get complete bodies, so none of
 * them waits for a client.
 */
const decompressorOf = (request: Request): Decompress | null => {
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

/** The unread Node stream of each request that came over a socket. */
const streams = new WeakMap<Request, IncomingMessage>();

export const setIncoming = (request: Request, incoming: IncomingMessage): void => {
  streams.set(request, incoming);
};

/** The Node stream of a request, for its only reader; undefined if it did not come over a socket. */
const takeIncoming = (request: Request): IncomingMessage | undefined => {
  const incoming = streams.get(request);
  streams.delete(request);
  return incoming;
};

/**
 * Reads a body chunk by chunk. An error of `onChunk` stops the reading. Read from the Node stream, if there is one: the
 * web streams around it take three times the CPU.
 */
export const readChunks = async (request: Request, onChunk: (chunk: Uint8Array) => void): Promise<void> => {
  const incoming = takeIncoming(request);
  if (incoming !== undefined) await readIncoming(incoming, onChunk);
  // Leaving the loop cancels the stream: the rest is not read.
  else for await (const chunk of request.body ?? []) onChunk(chunk);
};

const readIncoming = (incoming: IncomingMessage, onChunk: (chunk: Uint8Array) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      try {
        onChunk(chunk);
      } catch (error) {
        fail(error as Error);
      }
    };
    const fail = (error: Error): void => {
      incoming.off('data', take);
      incoming.pause();
      reject(error);
    };
    incoming.once('end', resolve);
    // A client that leaves ends its request with an error, or only closes it.
    incoming.once('error', fail);
    const leave = (): void => {
      if (!incoming.readableEnded) fail(new Error('the client has disconnected'));
    };
    incoming.once('close', leave);
    incoming.on('data', take);
    if (incoming.destroyed) leave();
  });

export interface ReadLimits {
  readonly maxBytes: number;
  /** Counts the bytes of all requests. */
  readonly room?: BodyRoom;
  /** Aborted: reading stops. */
  readonly signal?: AbortSignal;
}

interface BodyRoom {
  /** The id of the caller's key. */
  readonly caller: string;
  /** Called before reading with the announced length; 0 if unknown. */
  start(announced: number): Promise<void>;
  /** Called as bytes arrive. An error that it throws stops the reading. */
  grow(bytes: number): void;
}

const tooLarge = (maxBytes: number, what = 'The request body is'): GatewayError =>
  gatewayError('request_too_large', { message: `${what} larger than the ${maxBytes} bytes allowed.` });

/** Throws if the announced length is too large. Returns it; 0 if it is unknown. */
const checkLength = ({ headers }: Request, maxBytes: number): number => {
  const declared = Number(headers.get('content-length') ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  return declared;
};

/** The whole body, decompressed. */
export const readBytes = async (request: Request, limits: ReadLimits): Promise<Buffer> => {
  const { maxBytes, room } = limits;
  const decompress = decompressorOf(request);
  const declared = checkLength(request, maxBytes);
  await room?.start(declared);
  try {
    const sent = await countBytes(request, limits);
    return decompress === null ? sent : await decompress(sent, counterOf(limits), room?.caller ?? '');
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError(
      failure('invalid_json', { message: 'The request body could not be read completely.' }),
      { cause: error },
    );
  }
};

/** Counts bytes as they arrive. */
export const counterOf = (limits: ReadLimits): ((bytes: number) => void) => counting(limits);

/** Counts the items that a request refers to: a small body must not expand beyond the limit for large ones. */
export const referredCounter = (limits: ReadLimits): ((bytes: number) => void) =>
  counting(limits, 'The items that the request refers to are in total');

const counting = ({ maxBytes, room }: ReadLimits, what?: string): ((bytes: number) => void) => {
  let size = 0;
  return (bytes) => {
    size += bytes;
    if (size > maxBytes) throw tooLarge(maxBytes, what);
    room?.grow(bytes);
  };
};

const countBytes = async (request: Request, limits: ReadLimits): Promise<Buffer> => {
  const count = counterOf(limits);
  const chunks: Uint8Array[] = [];
  await readChunks(request, (chunk) => {
    count(chunk.byteLength);
    chunks.push(chunk);
  });
  const [only] = chunks;
  return chunks.length === 1 && only instanceof Buffer ? only : Buffer.concat(chunks);
};

/**
 * The body as the client sent it, read only as fast as the stream's reader takes it; null if the request has none. Fails
 * if the body is larger than allowed, or if the client disconnects.
 */
export const bodyStream = (
  request: Request,
  { maxBytes, onChunk }: { readonly maxBytes: number; readonly onChunk: () => void },
): Readable | null => {
  const incoming = takeIncoming(request);
  if (incoming === undefined || !hasBody(request)) return null;
  checkLength(request, maxBytes);
  const count = counterOf({ maxBytes });
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        count(chunk.length);
        onChunk();
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  // Its reader reports errors, if it has one yet.
  counted.on('error', () => {});
  const cut = (cause?: Error): void => {
    counted.destroy(new GatewayError(failure('malformed_request', { message: CUT }), { cause }));
  };
  incoming.once('error', cut);
  incoming.once('close', () => {
    if (!incoming.readableEnded) cut();
  });
  // Not a pipeline: the connection still has to carry the error.
  return incoming.pipe(counted);
};

const CUT = 'The request body could not be read completely.';

/** Without either header, HTTP/1.1 has no body. */
const hasBody = ({ headers }: Request): boolean =>
  headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0';
