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
