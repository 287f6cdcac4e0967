import { gatewayError, failure, GatewayError } from '../../canonical/failure.ts';
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
  /** Called before anything is read, with what was announced. */
  reserve(bytes: number): Promise<void>;
  /** Called as bytes come that were not announced. */
  grow(bytes: number): void;
}

const tooLarge = (maxBytes: number): GatewayError =>
  gatewayError('request_too_large', {
    message: `The request body is larger than the ${maxBytes} bytes allowed.`,
  });

/** The whole body, without the encoding of its way here. */
export const readBytes = async (request: Request, limits: ReadLimits): Promise<Buffer> => {
  const { maxBytes, room } = limits;
  const decompress = decompressorOf(request);
  const declared = request.headers.get('content-length');
  if (Number(declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  await room?.reserve(Number(declared ?? 0));
  try {
    // Node's HTTP parser holds a body to its declared length, so it can be taken whole, which is much
    // cheaper than a web stream. A chunked body declares none and must be counted.
    const sent =
      declared === null ? await countBytes(request, limits) : Buffer.from(await request.arrayBuffer());
    return decompress === null ? sent : await decompress(sent, counterOf(limits), room?.caller ?? '');
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError(
      failure('invalid_json', { message: 'The request body could not be read to its end.' }),
      { cause: error },
    );
  }
};

/** Hears of bytes that nobody had announced. */
export const counterOf = ({ maxBytes, room }: ReadLimits): ((bytes: number) => void) => {
  let size = 0;
  return (bytes) => {
    size += bytes;
    if (size > maxBytes) throw tooLarge(maxBytes);
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
