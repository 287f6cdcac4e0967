import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MIMEType } from 'node:util';

import busboy from 'busboy';

import { failure, gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { quoted } from '../../kit/text/display.ts';
import type { FormEntry } from '../../turns/api.ts';
import { readBytes, type ReadLimits } from './read-bytes.ts';

/** More than any supported form has. */
const MAX_PARTS = 100;
/** Other requests run after this many bytes. */
const SLICE_BYTES = 64 * 1024;

const typeOf = (request: Request): string => request.headers.get('content-type') ?? '';

export const isForm = (request: Request): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(typeOf(request));

const invalid = (message: string): GatewayError => gatewayError('invalid_form', { message });

/** Returns the parts of a form. Throws a failure if it is malformed or too large. */
export const readForm = async (request: Request, limits: ReadLimits): Promise<readonly FormEntry[]> => {
  const bytes = await readBytes(request, limits);
  const parts: Part[] = [];
  try {
    const boundary = boundaryOf(request);
    const delimiters = new Delimiters(bytes, boundary);
    const slices = Readable.from(slicesOf(bytes, delimiters, limits.signal));
    await pipeline(slices, parserInto(parts, boundary, limits));
    // The parser skips a part without a `form-data` disposition, and what follows the form.
    if (parts.length !== delimiters.count - 1 || !delimiters.endForm) {
      throw invalid(
        'A part of the form has no valid content-disposition, or there is text outside of its parts.',
      );
    }
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
  readonly isBase64: boolean;
}

/** Throws if there is none. */
const boundaryOf = (request: Request): string => {
  const boundary = new MIMEType(typeOf(request)).params.get('boundary') ?? '';
  if (!/^[^"\\]+$/.test(boundary)) throw new Error('no boundary');
  return boundary;
};

async function* slicesOf(
  bytes: Buffer,
  delimiters: Delimiters,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    delimiters.find(at, at + SLICE_BYTES);
    yield bytes.subarray(at, at + SLICE_BYTES);
    await yieldToLoop(signal);
  }
}

/** Counts the delimiters of a form, each of which begins a part, except for the last. */
class Delimiters {
  readonly #bytes: Buffer;
  readonly #delimiter: Buffer;
  #end = 0;
  count = 0;

  /** Throws if the form does not begin with one. */
  constructor(bytes: Buffer, boundary: string) {
    this.#bytes = bytes;
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
    const first = this.#delimiter.subarray(2);
    if (startsWith(bytes, first)) this.#add(first.length);
    else if (!startsWith(bytes, this.#delimiter)) throw new Error('text before the form');
  }

  /** Finds those that end in this slice. */
  find(from: number, to: number): void {
    const { length } = this.#delimiter;
    const start = Math.max(0, from - length + 1);
    const slice = this.#bytes.subarray(start, to);
    for (let at = slice.indexOf(this.#delimiter); at !== -1;) {
      this.#add(start + at + length);
      at = slice.indexOf(this.#delimiter, at + length);
    }
  }

  /** Whether nothing follows the last one. */
  get endForm(): boolean {
    const rest = this.#bytes.subarray(this.#end);
    return rest.length < 100 && /^--\s*$/.test(rest.toString('latin1'));
  }

  #add(end: number): void {
    this.#end = end;
    this.count += 1;
    if (this.count > MAX_PARTS + 1) {
      throw invalid(`The form has too many parts: at most ${MAX_PARTS} are allowed.`);
    }
  }
}

const startsWith = (bytes: Buffer, first: Buffer): boolean => bytes.subarray(0, first.length).equals(first);

/** The parser itself limits the headers of a part to 16 KiB. */
const parserInto = (parts: Part[], boundary: string, { maxBytes }: ReadLimits): Writable => {
  const parser = busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    limits: { fieldSize: maxBytes },
    defParamCharset: 'utf8',
  });
  const add = (name: string, value: Part['value'], encoding: string): void => {
    const problem = problemWith(name, value, encoding);
    if (problem === null) parts.push({ name, value, isBase64: encoding === 'base64' });
    else parser.destroy(invalid(problem));
  };
  parser.on('field', (name, value, { encoding }) => add(name, value, encoding.trim()));
  parser.on('file', (name, file, { encoding }) => {
    const chunks: Buffer[] = [];
    file.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The parser reports the same error.
    file.on('error', () => {});
    add(name, chunks, encoding.trim());
  });
  return parser;
};

const ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary', 'base64']);

/** Contrary to the types, a part may have no name, and a text in an unknown charset has no value. */
const problemWith = (name?: string, value?: Part['value'], encoding = ''): string | null => {
  if (name === undefined) return 'A part of the form has no name.';
  if (value === undefined) return `The part '${quoted(name)}' of the form has an unknown charset. Use UTF-8.`;
  return ENCODINGS.has(encoding)
    ? null
    : `The part '${quoted(name)}' of the form has an unsupported content-transfer-encoding: '${quoted(encoding)}'.`;
};

/** Clients guess the type from the file name or omit it; the image check reads it from the bytes. */
const entryOf = ({ name, value, isBase64 }: Part): FormEntry => {
  if (typeof value === 'string') {
    return { name, value: isBase64 ? Buffer.from(value, 'base64').toString() : value, isFile: false };
  }
  const sent = Buffer.concat(value);
  const file = isBase64 ? Buffer.from(sent.toString('latin1'), 'base64') : sent;
  return { name, value: `data:image/png;base64,${file.toString('base64')}`, isFile: true };
};
