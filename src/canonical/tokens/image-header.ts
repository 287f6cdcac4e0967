/** Type and size from the first bytes of an image. */
export interface ImageHeader {
  readonly mediaType: ImageMediaType;
  readonly width: number;
  readonly height: number;
}

export type ImageMediaType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** Reads the header of an image; null if the format is unsupported or has no size. */
export const imageHeaderOf = (bytes: Buffer): ImageHeader | null => {
  for (const [mediaType, read] of READERS) {
    const size = read(bytes);
    if (size !== null) return size.width > 0 && size.height > 0 ? { mediaType, ...size } : null;
  }
  return null;
};

interface Size {
  readonly width: number;
  readonly height: number;
}

const ascii = (bytes: Buffer, start: number, end: number): string => bytes.toString('latin1', start, end);

const sizeOfPng = (bytes: Buffer): Size | null =>
  bytes.length >= 24 && ascii(bytes, 0, 8) === '\x89PNG\r\n\x1a\n' && ascii(bytes, 12, 16) === 'IHDR'
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : null;

const sizeOfGif = (bytes: Buffer): Size | null =>
  bytes.length >= 10 && /^GIF8[79]a$/.test(ascii(bytes, 0, 6))
    ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    : null;

const sizeOfWebp = (bytes: Buffer): Size | null => {
  if (bytes.length < 30 || ascii(bytes, 0, 4) !== 'RIFF' || ascii(bytes, 8, 12) !== 'WEBP') return null;
  switch (ascii(bytes, 12, 16)) {
    case 'VP8 ':
      return ascii(bytes, 23, 26) === '\x9d\x01\x2a'
        ? { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
        : null;
    // VP8L and VP8X store each size minus one.
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return null;
      const sizes = bytes.readUInt32LE(21);
      return { width: (sizes & 0x3fff) + 1, height: ((sizes >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
};

/** Start-of-frame markers are C0 to CF, except three with another meaning. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** The size of a JPEG is in its frame header, after other segments of any length. */
const sizeOfJpeg = (bytes: Buffer): Size | null => {
  if (bytes.length < 4 || bytes[0] !== 0xff || bytes[1] !== 0xd8) return null;
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) {
      return at + 9 <= bytes.length
        ? { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
        : null;
    }
    // Scan data and the end marker cannot come before the frame.
    if (marker === 0xda || marker === 0xd9 || marker < 0xc0) return null;
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return null;
    at += 2 + length;
  }
  return null;
};

const READERS: readonly (readonly [ImageMediaType, (bytes: Buffer) => Size | null])[] = [
  ['image/png', sizeOfPng],
  ['image/jpeg', sizeOfJpeg],
  ['image/gif', sizeOfGif],
  ['image/webp', sizeOfWebp],
];
