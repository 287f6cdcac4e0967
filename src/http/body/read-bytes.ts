import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
import { decompressorOf } from './decompress.ts';
import { readChunks } from './incoming-body.ts';

export interface ReadLimits {
  readonly maxBytes: number;
  /** Counts the bytes of all requests. */
  readonly room?: BodyRoom;
  /** Aborted: reading stops. */
  readonly signal?: AbortSignal;
}

export interface BodyRoom {
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
export const checkLength = ({ headers }: Request, maxBytes: number): number => {
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
