import { inflateSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { DEMO_IMAGE, demoImage } from './images.ts';

/** The size in the PNG header, and the number of bytes of pixel data. */
const read = (base64: string) => {
  const png = Buffer.from(base64, 'base64');
  const length = png.readUInt32BE(33);
  const rows = inflateSync(png.subarray(41, 41 + length));
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20), bytes: rows.length };
};

describe('demoImage', () => {
  it.each([
    ['1024x1024', 1024, 1024],
    ['1536x1024', 1536, 1024],
    ['256x256', 256, 256],
    ['4096x4096', 4096, 4096],
    ['1x7', 1, 7],
  ])('has the requested size: %s', (size, width, height) => {
    const image = demoImage(size);
    expect({ ...read(image.base64), size: image.size }).toEqual({
      width,
      height,
      size,
      bytes: height * (1 + Math.ceil(width / 8)),
    });
  });

  it.each(['auto', null, '', '0x10', '5000x10', '10x', '99999x99999', '10x10x10'])(
    'has the default size if the requested one is unsupported: %s',
    (size) => {
      expect(demoImage(size)).toBe(DEMO_IMAGE);
      // One of those that OpenAI's schema allows.
      expect(DEMO_IMAGE.size).toBe('1024x1024');
    },
  );
});
