import { failure, GatewayError } from '../canonical/failure.ts';

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export const invalidImage = (message: string, param: string, cause?: unknown): GatewayError =>
  new GatewayError(failure('invalid_image', { message, param }), { cause });

const ascii = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

const isPng = (bytes: Buffer): boolean =>
  bytes.length >= 24 &&
  ascii(bytes, 0, 8) === '\x89PNG\r\n\x1a\n' &&
  ascii(bytes, 12, 16) === 'IHDR' &&
  bytes.readUInt32BE(16) > 0 &&
  bytes.readUInt32BE(20) > 0;

const isGif = (bytes: Buffer): boolean =>
  bytes.length >= 10 &&
  /^GIF8[79]a$/.test(ascii(bytes, 0, 6)) &&
  bytes.readUInt16LE(6) > 0 &&
  bytes.readUInt16LE(8) > 0;

const isWebp = (bytes: Buffer): boolean => {
  if (bytes.length < 30 || ascii(bytes, 0, 4) !== 'RIFF' || ascii(bytes, 8, 12) !== 'WEBP') return false;
  switch (ascii(bytes, 12, 16)) {
    case 'VP8 ':
      return (
        ascii(bytes, 23, 26) === '\x9d\x01\x2a' &&
        (bytes.readUInt16LE(26) & 0x3fff) > 0 &&
        (bytes.readUInt16LE(28) & 0x3fff) > 0
      );
    // These two store the sizes less one: zero cannot be written.
    case 'VP8L':
      return bytes[20] === 0x2f;
    case 'VP8X':
      return true;
    default:
      return false;
  }
};

/** Start-of-frame markers are C0 to CF, but for three that mean something else. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** The size of a JPEG stands behind segments of any length: they are walked up to the frame. */
const isJpeg = (bytes: Buffer): boolean => {
  if (bytes.length < 4 || bytes[0] !== 0xff || bytes[1] !== 0xd8) return false;
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return false;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) {
      return at + 9 <= bytes.length && bytes.readUInt16BE(at + 5) > 0 && bytes.readUInt16BE(at + 7) > 0;
    }
    // Scan data and the end of the image do not come before the frame.
    if (marker === 0xda || marker === 0xd9 || marker < 0xc0) return false;
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return false;
    at += 2 + length;
  }
  return false;
};

/** What the bytes are, by their header; null when no supported image with a size begins there. */
export const sniffImage = (bytes: Buffer): ImageMediaType | null => {
  if (isPng(bytes)) return 'image/png';
  if (isJpeg(bytes)) return 'image/jpeg';
  if (isGif(bytes)) return 'image/gif';
  if (isWebp(bytes)) return 'image/webp';
  return null;
};

/** The one form in which images go on: base64, with the type that the bytes really have. */
export const toImageDataUrl = (bytes: Buffer, param: string): string => {
  const mediaType = sniffImage(bytes);
  if (mediaType === null) {
    throw invalidImage(
      'You uploaded an unsupported image. Please make sure your image is a valid PNG, JPEG, GIF or WebP.',
      param,
    );
  }
  return `data:${mediaType};base64,${bytes.toString('base64')}`;
};

const PERCENT = 0x25;

/** Percent signs to bytes. Unlike `decodeURIComponent`, which wants UTF-8, this takes any bytes. */
const percentDecoded = (text: string, param: string): Buffer => {
  const source = Buffer.from(text);
  if (!text.includes('%')) return source;
  const target = Buffer.alloc(source.length);
  let size = 0;
  for (let index = 0; index < source.length; index += 1) {
    let byte = source.readUInt8(index);
    if (byte === PERCENT) {
      const digits = ascii(source, index + 1, index + 3);
      if (!/^[0-9a-f]{2}$/i.test(digits)) {
        throw invalidImage('Invalid data URL: a percent sign must be followed by two hex digits.', param);
      }
      byte = Number.parseInt(digits, 16);
      index += 2;
    }
    target[size] = byte;
    size += 1;
  }
  return target.subarray(0, size);
};

const base64Decoded = (text: string, param: string): Buffer => {
  // Node skips what it does not know. Data that is encoded to the same text again had no such thing.
  const direct = Buffer.from(text, 'base64');
  if (direct.length > 0 && direct.toString('base64') === text) return direct;

  // Line breaks and percent signs come from tools that wrap lines or escape URLs.
  const compact = percentDecoded(text, param)
    .toString('latin1')
    .replaceAll(/[\t\n\f\r ]/g, '');
  const padding = /={0,2}$/.exec(compact.slice(-2))?.[0].length ?? 0;
  const digits = compact.slice(0, compact.length - padding);
  if (digits === '' || digits.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(digits)) {
    throw invalidImage('Invalid base64 image data.', param);
  }
  return Buffer.from(digits, 'base64');
};

/** Checks an image given as a data URL. A URL that is in its best form already comes back as it is. */
export const canonicalDataUrl = (url: string, param: string): string => {
  const comma = url.indexOf(',');
  // A header is short: a longer one is not worth looking through.
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
  return toImageDataUrl(isBase64 ? base64Decoded(payload, param) : percentDecoded(payload, param), param);
};
