import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import busboy from 'busboy';

import { failure, gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import type { FormEntry } from '../../turns/api.ts';
import { readBytes, type ReadLimits } from './read-bytes.ts';

/** More than any supported form has. */
const MAX_PARTS = 100;
/** Other requests run after this many bytes. */
const SLICE_BYTES = 64 * 1024;

const typeOf = (request: Request): string => request.headers.get('content-type') ?? '';

export const isForm = (request: Request): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(typeOf(request));

/** Returns the parts of a form. Throws a failure if it is malformed or too large. */
export const readForm = async (request: Request, limits: ReadLimits): Promise<readonly FormEntry[]> => {
  const bytes = await readBytes(request, limits);
  const parts: Part[] = [];
  try {
    await pipeline(Readable.from(slices(bytes, limits.signal)), parserInto(parts, request, limits));
  } catch (error) {
    limits.signal?.throwIfAborted();
    if (error instanceof GatewayError) throw error;
    throw new GatewayError(failure('invalid_form'), { cause: error });
  }
  return parts.map(entryOf);
};

interface Part {
  readonly name: string;
  /** For a file: its chunks. */
  readonly value: string | readonly Buffer[];
}

const slices = async function* (bytes: Buffer, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    yield bytes.subarray(at, at + SLICE_BYTES);
    await yieldToLoop(signal);
  }
};

/** Throws if the content type has no boundary. The parser itself limits the headers of a part to 16 KiB. */
const parserInto = (parts: Part[], request: Request, { maxBytes }: ReadLimits): Writable => {
  const parser = busboy({
    headers: { 'content-type': typeOf(request) },
    // The limit is reported at the end of the last allowed part.
    limits: { parts: MAX_PARTS + 1, fieldSize: maxBytes },
    defParamCharset: 'utf8',
  });
  const add = (part: Part): void => {
    // Contrary to the types, a part may have no name.
    if ((part.name as string | undefined) !== undefined) parts.push(part);
    else parser.destroy(gatewayError('invalid_form', { message: 'A part of the form has no name.' }));
  };
  parser.on('field', (name, value) => add({ name, value }));
  parser.on('file', (name, file) => {
    const chunks: Buffer[] = [];
    add({ name, value: chunks });
    file.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The parser reports the same error.
    file.on('error', () => {});
  });
  parser.on('partsLimit', () =>
    parser.destroy(
      gatewayError('invalid_form', {
        message: `The form has too many parts: at most ${MAX_PARTS} are allowed.`,
      }),
    ),
  );
  return parser;
};

/** Clients guess the type from the file name or omit it; the image check reads it from the bytes. */
const entryOf = ({ name, value }: Part): FormEntry =>
  typeof value === 'string'
    ? { name, value, isFile: false }
    : { name, value: `data:image/png;base64,${Buffer.concat(value).toString('base64')}`, isFile: true };
