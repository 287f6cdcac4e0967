import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failure, failureOf, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { atOnce } from '../../kit/async/event-loop.ts';
import {
  canonicalDataUrl as canonicalSteps,
  toImageDataUrl as imageSteps,
  sniffImage,
} from './image-data-url.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const canonicalDataUrl = (url: string, param: string): string => atOnce(canonicalSteps(url, param));
const toImageDataUrl = (bytes: Buffer, param: string): string => atOnce(imageSteps(bytes, param));

const dataUrl = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString('base64')}`;

const refusal = (url: string): Failure | null => {
  try {
    canonicalDataUrl(url, 'input[0].content[1]');
  } catch (error) {
    return failureOf(error);
  }
  return null;
};

const outcomeOf = (url: string): string => {
  try {
    return canonicalDataUrl(url, 'p');
  } catch (error) {
    return error instanceof GatewayError ? 'GatewayError' : String(error);
  }
};

const refused = (message: string): Failure =>
  failure('invalid_image', { message, param: 'input[0].content[1]' });

describe('canonicalDataUrl', () => {
  const canonical = dataUrl('image/png', png);
  const base64 = png.toString('base64');
  const percent = [...png].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

  it.each([
    ['the best form', canonical],
    ['a wrong image type', dataUrl('image/jpg', png)],
    ['upper case', `DATA:Image/PNG;BASE64,${base64}`],
    ['parameters', `data:image/png;name=a.png;base64,${base64}`],
    ['line breaks', `data:image/png;base64,${base64.replaceAll(/.{20}/g, '$&\r\n ')}`],
    ['no padding', `data:image/png;base64,${base64.replace(/=+$/, '')}`],
    ['escaped base64', `data:image/png;base64,${encodeURIComponent(base64)}`],
    ['percent-encoded bytes', `data:image/png,${percent}`],
  ])('accepts %s', (_, url) => {
    expect(canonicalDataUrl(url, 'p')).toBe(canonical);
  });

  const shape = refused(
    "Invalid image data URL. Expected a form such as 'data:image/png;base64,' followed by the data.",
  );
  const unsupported = refused(
    'You uploaded an unsupported image. Please make sure your image is a valid PNG, JPEG, GIF or WebP.',
  );
  const badBase64 = refused('Invalid base64 image data.');

  it.each([
    ['no comma', 'data:image/png;base64', shape],
    ['another scheme', 'http://images.test/a,b', shape],
    ['a long header', `data:image/png;${'x'.repeat(300)};base64,${base64}`, shape],
    [
      'another type',
      dataUrl('text/plain', png),
      refused("Invalid image data URL. Expected an image MIME type, but got 'text/plain'."),
    ],
    [
      'no type',
      `data:;base64,${base64}`,
      refused("Invalid image data URL. Expected an image MIME type, but got ''."),
    ],
    ['no data', 'data:image/png;base64,', badBase64],
    [
      'letters that are not base64',
      `data:image/png;base64,${base64.slice(0, 40)}!!${base64.slice(40)}`,
      badBase64,
    ],
    ['padding in the middle', `data:image/png;base64,${base64}${base64}`, badBase64],
    ['too much padding', 'data:image/png;base64,iVBORw0KGgo====', badBase64],
    ['a lone letter at the end', 'data:image/png;base64,AAAAA', badBase64],
    [
      'a broken percent sign',
      'data:image/png,%8',
      refused('Invalid data URL: a percent sign must be followed by two hex digits.'),
    ],
    ['base64 without saying so', `data:image/png,${base64}`, unsupported],
    ['bytes that are not an image', 'data:image/png;base64,aGVsbG8gd29ybGQ=', unsupported],
  ])('rejects %s', (_, url, expected) => {
    expect(refusal(url)).toEqual(expected);
  });

  it('throws only failures for any text', () => {
    const head = fc.constantFrom(
      '',
      'data:',
      'data:image/png;base64,',
      'data:image/png,',
      'data:image/gif;x;base64,',
    );
    const body = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
      fc.string({ unit: fc.constantFrom('%', '=', 'A', '0', 'f', ' ', '\n', ',', ';') }),
      fc.nat(png.length).map((length) => png.subarray(0, length).toString('base64')),
    );
    fc.assert(
      fc.property(head, body, (start, rest) => {
        expect(outcomeOf(start + rest)).toMatch(
          /^(?:GatewayError|data:image\/(?:png|jpeg|gif|webp);base64,.+)$/,
        );
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the bytes of any image in any encoding', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.nat(80), (tail, width) => {
        const bytes = Buffer.concat([png, tail]);
        const wrapped = bytes.toString('base64').replaceAll(new RegExp(`.{${width + 1}}`, 'g'), '$&\n');
        expect(canonicalDataUrl(`data:image/webp;base64,${wrapped}`, 'p')).toBe(toImageDataUrl(bytes, 'p'));
      }),
    );
  });

  it('processes a large image in slices in any encoding', () => {
    const large = Buffer.concat([png, Buffer.alloc(2_000_000, 'some bytes of an image')]);
    const digits = large.toString('base64');
    const forms = [
      `data:image/png;base64,${digits}`,
      `data:image/jpg;base64,${digits}`,
      `data:image/png;base64,${digits.replaceAll(/.{76}/g, '$&\n')}`,
      `data:image/png;base64,${digits.replaceAll('A', '%41').replaceAll('B', '%42')}`,
      `data:image/png,${[...large].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')}`,
    ];
    for (const form of forms) {
      let steps = 0;
      const work = canonicalSteps(form, 'p');
      let last = work.next();
      for (; last.done !== true; last = work.next()) steps += 1;
      expect(last.value === dataUrl('image/png', large)).toBe(true);
      expect(steps).toBeGreaterThan(9);
    }
    const padded = `data:image/png;base64,${digits.slice(0, 256 * 1024 - 4)}AAA=${digits.slice(256 * 1024)}`;
    expect(outcomeOf(padded)).toBe('GatewayError');
  });
});

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

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
