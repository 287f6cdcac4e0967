import { crc32, deflateSync } from 'node:zlib';

/** Five points wide, seven high. */
const LETTERS = [
  ['#### ', '#   #', '#   #', '#   #', '#   #', '#   #', '#### '],
  ['#####', '#    ', '#    ', '#### ', '#    ', '#    ', '#####'],
  ['#   #', '## ##', '# # #', '#   #', '#   #', '#   #', '#   #'],
  [' ### ', '#   #', '#   #', '#   #', '#   #', '#   #', ' ### '],
] as const;
const ROWS = [0, 1, 2, 3, 4, 5, 6] as const;
/** Pixels in a point, and points around the word. */
const SCALE = 8;
const MARGIN = '  ';

/** The word DEMO, line by line, with space around it. */
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

/** A PNG with a byte of grey for each pixel. */
const encode = (lines: readonly string[]): { readonly png: Buffer; readonly size: string } => {
  const [width, height] = [(lines[0]?.length ?? 0) * SCALE, lines.length * SCALE];
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits of grey; no compression, filter or interlacing but the usual.
  header[8] = 8;
  const stretched = <One>(list: readonly One[]): readonly One[] =>
    list.flatMap((one) => Array.from({ length: SCALE }, () => one));
  // Each row begins with its filter: none.
  const rows = lines.map((line) => [0, ...stretched(Array.from(line, (point) => (point === '#' ? 0 : 255)))]);
  const png = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(stretched(rows).flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return { png, size: `${width}x${height}` };
};

const { png, size } = encode(points());

/** What the demo model draws, whatever it is asked for: an image that says what it is. */
export const DEMO_IMAGE = { base64: png.toString('base64'), size } as const;
