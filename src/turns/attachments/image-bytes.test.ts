import { describe, expect, it } from 'vitest';
import { sniffImage } from './image-bytes.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
/** An APP0 segment, a fill byte, then a frame of 2 by 3. */
const jpeg = hex(
  'ffd8 ffe0 0010 4a46494600010100000100010000 ff ffc0 0011 08 0002 0003 03 011100 021100 031100',
);
const webpHead = (chunk: string): string =>
  `52494646 24000000 57454250 ${Buffer.from(chunk).toString('hex')} 10000000`;
const webpLossy = hex(`${webpHead('VP8 ')} 300100 9d012a 0100 0100 0000`);
const webpLossless = hex(`${webpHead('VP8L')} 2f 00000000 0000000000`);
const webpExtended = hex(`${webpHead('VP8X')} 00000000 000000 000000`);

const withBytes = (bytes: Buffer, at: number, values: readonly number[]): Buffer => {
  const copy = Buffer.from(bytes);
  copy.set(values, at);
  return copy;
};

describe('sniffImage', () => {
  it.each([
    ['PNG', png, 'image/png'],
    ['JPEG', jpeg, 'image/jpeg'],
    ['GIF', gif, 'image/gif'],
    ['lossy WebP', webpLossy, 'image/webp'],
    ['lossless WebP', webpLossless, 'image/webp'],
    ['extended WebP', webpExtended, 'image/webp'],
  ])('recognises %s', (_, bytes, mediaType) => {
    expect(sniffImage(bytes)).toBe(mediaType);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a signature alone', png.subarray(0, 8)],
    ['a PNG without width', withBytes(png, 16, [0, 0, 0, 0])],
    ['a PNG without height', withBytes(png, 20, [0, 0, 0, 0])],
    ['a PNG that begins with another chunk', withBytes(png, 12, [0x49, 0x44, 0x41, 0x54])],
    ['a GIF without width', withBytes(gif, 6, [0, 0])],
    ['a JPEG without height', withBytes(jpeg, 26, [0, 0])],
    ['a JPEG that is cut before its frame', jpeg.subarray(0, 20)],
    ['a JPEG that scans before its frame', hex('ffd8 ffda 0008 0000 0000 0000 0000')],
    ['a JPEG segment of no length', hex('ffd8 ffe0 0000 ffc0 0011 08 0002 0003')],
    ['a lossy WebP without width', withBytes(webpLossy, 26, [0, 0])],
    ['RIFF that is sound', withBytes(webpLossy, 8, [0x57, 0x41, 0x56, 0x45])],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')],
    ['BMP', hex('424d 46000000 00000000 36000000 28000000 01000000 01000000')],
  ])('rejects %s', (_, bytes) => {
    expect(sniffImage(bytes)).toBeNull();
  });
});
