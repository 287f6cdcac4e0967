import { gatewayError, failure, GatewayError } from '../../canonical/failure.ts';

export interface ReadLimits {
  readonly maxBytes: number;
  /** Where the bytes are counted, among those of all requests. */
  readonly room?: BodyRoom;
}

export interface BodyRoom {
  /** Called before anything is read, with what was announced. */
  reserve(bytes: number): Promise<void>;
  /** Called as bytes come that were not announced. */
  grow(bytes: number): void;
}

const tooLarge = (maxBytes: number): GatewayError =>
  gatewayError('request_too_large', {
    message: `The request body is larger than the ${maxBytes} bytes allowed.`,
  });

const refuseEncoding = (request: Request): void => {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  throw gatewayError('unsupported_value', {
    message: `Unsupported content encoding: '${encoding.slice(0, 40)}'. Send the request body uncompressed.`,
  });
};

/** The whole body, as it was sent. */
export const readBytes = async (request: Request, { maxBytes, room }: ReadLimits): Promise<Buffer> => {
  refuseEncoding(request);
  const declared = request.headers.get('content-length');
  if (Number(declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  await room?.reserve(Number(declared ?? 0));
  try {
    // Node's HTTP parser holds a body to its declared length, so it can be taken whole, which is much
    // cheaper than a web stream. A chunked body declares none and must be counted.
    if (declared !== null) return Buffer.from(await request.arrayBuffer());
    return await countBytes(request, maxBytes, room);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw new GatewayError(
      failure('invalid_json', { message: 'The request body could not be read to its end.' }),
      { cause: error },
    );
  }
};

const countBytes = async (
  request: Request,
  maxBytes: number,
  room: BodyRoom | undefined,
): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream: the rest of the body is not taken in.
    if (size > maxBytes) throw tooLarge(maxBytes);
    room?.grow(chunk.byteLength);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
};
