import { gatewayError, failure, GatewayError } from '../../canonical/failure/failure.ts';
import { decompressorOf } from './decompress.ts';

export interface ReadLimits {
  readonly maxBytes: number;
  /** Where the bytes are counted, among those of all requests. */
  readonly room?: BodyRoom;
  /** Of the request: reading the body stops when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface BodyRoom {
  /** Whose body it is. */
  readonly caller: string;
  /** Called before anything is read, with what was announced; 0 where nothing was. */
  start(announced: number): Promise<void>;
  /** Called as bytes come. What it throws ends the reading. */
  grow(bytes: number): void;
}

const tooLarge = (maxBytes: number, what = 'The request body is'): GatewayError =>
  gatewayError('request_too_large', { message: `${what} larger than the ${maxBytes} bytes allowed.` });

/** A body of this length counts as if it had arrived at once. */
const SMALL_BYTES = 64 * 1024;

/** The whole body, without the encoding of its way here. */
export const readBytes = async (request: Request, limits: ReadLimits): Promise<Buffer> => {
  const { maxBytes, room } = limits;
  const decompress = decompressorOf(request);
  const length = request.headers.get('content-length');
  const declared = length === null ? null : Number(length);
  if ((declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  await room?.start(declared ?? 0);
  try {
    // Node's HTTP parser holds a body to its declared length, so a small one can be taken whole, which is much
    // cheaper than a web stream. Of a large one only what has arrived may count, and a chunked one declares none.
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

/** Hears of bytes as they come. */
export const counterOf = (limits: ReadLimits): ((bytes: number) => void) => counting(limits);

/** Counts the items that a request refers to: a small body must not expand beyond the limit of a large one. */
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
    // Leaving the loop cancels the stream: the rest of the body is not taken in.
    count(chunk.byteLength);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
