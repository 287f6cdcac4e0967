import type { Sliced } from '../../kit/async/event-loop.ts';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { imageHeaderOf, type ImageMediaType } from '../../canonical/tokens/image-header.ts';

export const invalidImage = (message: string, param: string, cause?: unknown): GatewayError =>
  new GatewayError(failure('invalid_image', { message, param }), { cause });

/** The image type by its header; null unless a supported image with a size begins here. */
export const sniffImage = (bytes: Buffer): ImageMediaType | null => imageHeaderOf(bytes)?.mediaType ?? null;

/** Images are megabytes long and processed in slices. A multiple of four: four digits are three bytes. */
const STEP_CHARS = 256 * 1024;
const STEP_BYTES = (STEP_CHARS / 4) * 3;

/** A base64 data URL with the media type that the bytes really have. */
export function* toImageDataUrl(bytes: Buffer, param: string): Sliced<string> {
  const mediaType = mediaTypeOf(bytes, param);
  let digits = '';
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    digits += bytes.toString('base64', at, at + STEP_BYTES);
    yield;
  }
  return `data:${mediaType};base64,${digits}`;
}

const mediaTypeOf = (bytes: Buffer, param: string): string => {
  const mediaType = sniffImage(bytes);
  if (mediaType !== null) return mediaType;
  throw invalidImage(
    'You uploaded an unsupported image. Please make sure your image is a valid PNG, JPEG, GIF or WebP.',
    param,
  );
};

/** Checks and normalises an image in a data URL. Returns the same string if it is already normal. */
export function* canonicalDataUrl(url: string, param: string): Sliced<string> {
  const comma = url.indexOf(',');
  // Headers are short: do not search further.
  const header = /^data:([^;,]*)((?:;[^;,]*)*)$/i.exec(
    comma === -1 || comma > 200 ? '' : url.slice(0, comma),
  );
  if (header === null) {
    throw invalidImage(
      "Invalid image data URL. Expected a form such as 'data:image/png;base64,' followed by the data.",
      param,
    );
  }
  const mediaType = (header[1] ?? '').trim().toLowerCase();
  if (!/^image\/[a-z0-9.+-]+$/.test(mediaType)) {
    throw invalidImage(
      `Invalid image data URL. Expected an image MIME type, but got '${mediaType.slice(0, 60)}'.`,
      param,
    );
  }
  const payload = url.slice(comma + 1);
  const isBase64 = /;\s*base64\s*$/i.test(header[2] ?? '');
  if (!isBase64) return yield* toImageDataUrl(yield* unescaped(payload, param), param);
  const direct = yield* decodedAsItIs(payload);
  if (direct === null) return yield* toImageDataUrl(yield* decoded(payload, param), param);
  const best = `data:${mediaTypeOf(direct, param)};base64,`;
  return url.startsWith(best) ? url : best + payload;
}

/** Decodes strict base64 without line breaks; null for any other text. */
function* decodedAsItIs(text: string): Sliced<Buffer | null> {
  const parts: Buffer[] = [];
  for (let at = 0; at < text.length; at += STEP_CHARS) {
    const part = text.slice(at, at + STEP_CHARS);
    // Node skips invalid characters. Encoding the bytes again shows whether there were any.
    const bytes = Buffer.from(part, 'base64');
    if (bytes.toString('base64') !== part) return null;
    // Padding is only allowed at the end.
    if (bytes.length % 3 !== 0 && at + STEP_CHARS < text.length) return null;
    parts.push(bytes);
    yield;
  }
  return parts.length === 0 ? null : Buffer.concat(parts);
}

/** Also accepts line breaks and percent-encoding, from tools that wrap lines or escape URLs. */
function* decoded(text: string, param: string): Sliced<Buffer> {
  const compact = yield* withoutGaps(yield* unescaped(text, param));
  const ending = compact.subarray(-2).toString('latin1');
  const padding = /={0,2}$/.exec(ending)?.[0].length ?? 0;
  const length = compact.length - padding;
  if (length === 0 || length % 4 === 1) throw notBase64(param);
  const parts: Buffer[] = [];
  for (let at = 0; at < length; at += STEP_CHARS) {
    const digits = compact.toString('latin1', at, Math.min(at + STEP_CHARS, length));
    if (/[^A-Za-z0-9+/]/.test(digits)) throw notBase64(param);
    parts.push(Buffer.from(digits, 'base64'));
    yield;
  }
  return Buffer.concat(parts);
}

const notBase64 = (param: string): Error => invalidImage('Invalid base64 image data.', param);

const GAPS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x20]);

function* withoutGaps(bytes: Buffer): Sliced<Buffer> {
  let size = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes.readUInt8(at);
    if (!GAPS.has(byte)) {
      bytes[size] = byte;
      size += 1;
    }
    if (at % STEP_CHARS === 0) yield;
  }
  return bytes.subarray(0, size);
}

const PERCENT = 0x25;

/** Percent-decodes to bytes; `decodeURIComponent` accepts only UTF-8. */
function* unescaped(text: string, param: string): Sliced<Buffer> {
  const bytes = Buffer.from(text);
  if (!bytes.includes(PERCENT)) return bytes;
  let size = 0;
  for (let at = 0, steps = 0; at < bytes.length; at += 1, steps += 1) {
    let byte = bytes.readUInt8(at);
    if (byte === PERCENT) {
      const [high, low] = [hexDigit(bytes[at + 1]), hexDigit(bytes[at + 2])];
      if (high === -1 || low === -1) {
        throw invalidImage('Invalid data URL: a percent sign must be followed by two hex digits.', param);
      }
      byte = high * 16 + low;
      at += 2;
    }
    bytes[size] = byte;
    size += 1;
    if (steps % STEP_CHARS === 0) yield;
  }
  return bytes.subarray(0, size);
}

/** -1 if it is not a hex digit. */
const hexDigit = (byte: number | undefined): number => {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};
