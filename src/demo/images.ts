import { crc32, deflateSync } from 'node:zlib';

import { systemAmbient } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { ItemStep } from './script-step.ts';

/** The letters D, E, M, O: five points wide, seven high. */
const LETTERS = [
  ['#### ', '#   #', '#   #', '#   #', '#   #', '#   #', '#### '],
  ['#####', '#    ', '#    ', '#### ', '#    ', '#    ', '#####'],
  ['#   #', '## ##', '# # #', '#   #', '#   #', '#   #', '#   #'],
  [' ### ', '#   #', '#   #', '#   #', '#   #', '#   #', ' ### '],
] as const;
const ROWS = [0, 1, 2, 3, 4, 5, 6] as const;
/** Empty points around the word. */
const MARGIN = '  ';
/** Each side of an image without a requested size, one that OpenAI's API allows. */
const SIDE = 1_024;
/** Limit in pixels for each side, larger than any model draws. */
const MAX_SIDE = 4_096;

/** The word DEMO with a margin, line by line. */
const points = (): readonly string[] => {
  const word = ROWS.map((row) => `${MARGIN}${LETTERS.map((letter) => letter[row]).join(' ')}${MARGIN}`);
  const empty = Array.from(MARGIN, () => ' '.repeat(word[0]?.length ?? 0));
  return [...empty, ...word, ...empty];
};

const chunk = (type: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
};

/** Scales a line of points to pixels and centres it. */
const stretched = (line: string, pixels: number, scale: number): readonly string[] => {
  const offset = Math.floor((pixels - line.length * scale) / 2);
  return Array.from({ length: pixels }, (_, at) => line[Math.floor((at - offset) / scale)] ?? ' ');
};

/** Packs pixels into bits (1 is white), after the PNG filter byte 0. */
const packed = (pixels: readonly string[]): Buffer => {
  const row = Buffer.alloc(1 + Math.ceil(pixels.length / 8));
  pixels.forEach((point, at) => {
    const byte = 1 + Math.floor(at / 8);
    if (point !== '#') row[byte] = (row[byte] ?? 0) | (0x80 >> (at % 8));
  });
  return row;
};

/** Encodes a black-and-white PNG. */
const encode = (lines: readonly string[], width: number, height: number): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Bit depth 1, greyscale; the other bytes are the PNG defaults, 0.
  header[8] = 1;
  const scale = Math.max(1, Math.floor(Math.min(width / (lines[0]?.length ?? 1), height / lines.length)));
  const empty = packed(stretched('', width, scale));
  const rows = lines.map((line) => packed(stretched(line, width, scale)));
  const offset = Math.floor((height - lines.length * scale) / 2);
  const body = Array.from({ length: height }, (_, at) => rows[Math.floor((at - offset) / scale)] ?? empty);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(body), { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

interface DemoImage {
  readonly base64: string;
  /** Width and height in pixels, as in `1024x1536`. */
  readonly size: string;
}

const draw = (width: number, height: number): DemoImage => ({
  base64: encode(points(), width, height).toString('base64'),
  size: `${width}x${height}`,
});

/** The image in its default size. */
export const DEMO_IMAGE: DemoImage = draw(SIDE, SIDE);

/** The word DEMO as an image: what the demo model draws for any prompt. Unsupported sizes get the default size. */
export const demoImage = (size: string | null): DemoImage => {
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(size ?? '') ?? [];
  const sides = [Number(width), Number(height)] as const;
  return sides.every((side) => side >= 1 && side <= MAX_SIDE) ? draw(...sides) : DEMO_IMAGE;
};

export interface DrawnImage {
  /** Base64; null if drawing failed. */
  readonly result: string | null;
  /** Base64. */
  readonly previews?: readonly string[];
  /** Other fields of the item, such as its size or an error. */
  readonly details?: JsonObject;
}

/** The output of the backend's image generation tool. */
export const imageStep = ({ result, previews = [], details = {} }: DrawnImage): ItemStep => {
  const type = 'image_generation_call';
  const head = { id: systemAmbient.ids.mint('ig'), type };
  const { size, quality, background, output_format } = details;
  const event = (name: string, more: JsonObject = {}) => ({ type: `response.${type}.${name}`, ...more });
  return {
    initial: { ...head, status: 'in_progress', result: null },
    events: [
      event('in_progress'),
      event('generating'),
      ...previews.map((preview, index) =>
        event('partial_image', {
          partial_image_index: index,
          partial_image_b64: preview,
          size,
          quality,
          background,
          output_format,
        }),
      ),
      ...(result === null ? [] : [event('completed')]),
    ],
    item: { ...head, status: result === null ? 'failed' : 'completed', ...details, result },
  };
};
