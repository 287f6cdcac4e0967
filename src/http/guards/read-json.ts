import { gatewayError, failure, GatewayError } from '../../canonical/failure.ts';
import { JsonLimitError, readJsonSteps, type JsonLimits } from '../../kit/json-reader.ts';
import { inTurns } from '../../kit/loop-turns.ts';

export interface ReadJsonLimits {
  readonly maxBytes: number;
  readonly maxDepth?: number;
  /** Where the bytes are counted, among those of all requests. */
  readonly room?: BodyRoom;
}

export interface BodyRoom {
  /** Called before anything is read, with what was announced. */
  reserve(bytes: number): Promise<void>;
  /** Called as bytes come that were not announced. */
  grow(bytes: number): void;
}

/** Above what a tool's JSON schema needs. The app-server reads 128 levels, and does not answer beyond; what we put around a body takes a few of them. */
const MAX_DEPTH = 100;
/** Far more than any tool or conversation has; what is made of more would be slow to go through. */
const MAX_MEMBERS = 10_000;
const MAX_VALUES = 2_000_000;

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

const readBytes = async (request: Request, { maxBytes, room }: ReadJsonLimits): Promise<Buffer> => {
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

const beyond = ({ limit }: JsonLimitError, limits: JsonLimits): GatewayError => {
  const messages: Readonly<Record<keyof JsonLimits, string>> = {
    depth: `The JSON body is nested too deeply: at most ${limits.depth} levels are allowed.`,
    members: `The JSON body has an object with too many members: at most ${limits.members} are allowed.`,
    values: `The JSON body has too many values: at most ${limits.values} are allowed.`,
  };
  return gatewayError('invalid_json', { message: messages[limit] });
};

const parse = async (bytes: Uint8Array, limits: JsonLimits): Promise<unknown> => {
  try {
    return await inTurns(readJsonSteps(bytes, limits));
  } catch (error) {
    if (error instanceof JsonLimitError) throw beyond(error, limits);
    throw new GatewayError(failure('invalid_json'), { cause: error });
  }
};

/** The body as JSON, whatever content type it claims to have. */
export const readJson = async (request: Request, limits: ReadJsonLimits): Promise<unknown> => {
  refuseEncoding(request);
  const bytes = await readBytes(request, limits);
  return parse(bytes, { depth: limits.maxDepth ?? MAX_DEPTH, members: MAX_MEMBERS, values: MAX_VALUES });
};
