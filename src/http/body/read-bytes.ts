import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
import { decompressorOf } from './decompress.ts';

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

/** Bodies up to this length are counted at once. */
const SMALL_BYTES = 64 * 1024;

/** The whole body, decompressed. */
export const readBytes = async (request: Request, limits: ReadLimits): Promise<Buffer> => {
  const { maxBytes, room } = limits;
  const decompress = decompressorOf(request);
  const length = request.headers.get('content-length');
  const declared = length === null ? null : Number(length);
  if ((declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  await room?.start(declared ?? 0);
  try {
    // Node's HTTP parser enforces the declared length, so a small body can be read at once, which is much cheaper than a
    // web stream. A large or chunked one is counted as it arrives.
    const isSmall = declared !== null && declared <= SMALL_BYTES;
    const sent = isSmall ? await takeWhole(request, declared, room) : await countBytes(request, limits);
    return decompress === null ? sent : await decompress(sent, counterOf(limits), room?.caller ?? '');
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError(
      failure('invalid_json', { message: 'The request body could not be read completely.' }),
      { cause: error },
    );
  }
};

const takeWhole = async (request: Request, bytes: number, room: BodyRoom | undefined): Promise<Buffer> => {
  room?.grow(bytes);
  return Buffer.from(await request.arrayBuffer());
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
  for await (const chunk of request.body ?? []) {
    // Leaving the loop cancels the stream: the rest is not read.
    count(chunk.byteLength);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
