import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync } from 'node:zlib';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Inflater } from './inflater.ts';

const FINISH = constants.Z_SYNC_FLUSH;
const MAX_BYTES = 1024 * 1024;

const inflater = (): Inflater => new Inflater({ keepsWindow: true, maxBytes: MAX_BYTES });

/** Texts that zlib writes in every kind of block: as they are, with fixed and with own codes. */
const text = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ maxLength: 2_000 }).map((written) => Buffer.from(written)),
  fc
    .tuple(fc.string({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 5_000 }))
    .map(([part, count]) => Buffer.from(part.repeat(count))),
);
const settings = fc.record({
  level: fc.integer({ min: 0, max: 9 }),
  strategy: fc.constantFrom(
    constants.Z_DEFAULT_STRATEGY,
    constants.Z_FILTERED,
    constants.Z_HUFFMAN_ONLY,
    constants.Z_RLE,
    constants.Z_FIXED,
  ),
});

describe('Inflater', () => {
  it('reads what zlib writes, with the messages before as its dictionary', async () => {
    const run = fc.asyncProperty(fc.array(fc.tuple(text, settings), { maxLength: 12 }), async (messages) => {
      const ours = inflater();
      let before = Buffer.alloc(0);
      for (const [message, setting] of messages) {
        const dictionary = before.length === 0 ? {} : { dictionary: before };
        const deflated = deflateRawSync(message, { ...setting, ...dictionary, finishFlush: FINISH });
        const inflated = await ours.inflate(deflated.subarray(0, -4));
        expect(inflated.equals(message)).toBe(true);
        before = Buffer.concat([before, message]).subarray(-32 * 1024);
      }
    });
    await fc.assert(run, { numRuns: 150 });
  });

  it('inflates small messages at once, and large ones in another thread', async () => {
    const ours = inflater();
    const deflated = (size: number): Buffer =>
      deflateRawSync(Buffer.alloc(size, 'ab'), { finishFlush: FINISH }).subarray(0, -4);
    expect(Buffer.isBuffer(ours.inflate(deflated(256 * 1024)))).toBe(true);
    const large = ours.inflate(deflated(256 * 1024 + 1));
    expect(large).toBeInstanceOf(Promise);
    expect((await large).length).toBe(256 * 1024 + 1);
    expect(Buffer.isBuffer(ours.inflate(deflated(10)))).toBe(true);
  });

  it.each([
    ['invalid distance too far back', [0x03, 0x02, 0x00]],
    ['invalid block type', [0x07]],
    ['invalid stored block lengths', [0x01, 0x01, 0x00, 0x00, 0x00]],
  ])('says %s', (message, bytes) => {
    expect(() => inflater().inflate(Buffer.from(bytes))).toThrow(message);
  });

  it('never takes the start of a message for a whole one', async () => {
    const event = `{"type":"response.output_text.delta","delta":"${'so many words, and more of them '.repeat(9)}"}`;
    for (const level of [1, 6, 9]) {
      const deflated = deflateRawSync(event, { level, finishFlush: FINISH }).subarray(0, -4);
      for (let end = 1; end < deflated.length; end += 1) {
        expect(() => inflater().inflate(deflated.subarray(0, end))).toThrow(
          expect.objectContaining({ code: expect.stringMatching(/^Z_/) }),
        );
      }
    }
    const long = deflateRawSync(randomBytes(20_000), { finishFlush: FINISH });
    await expect(inflater().inflate(long.subarray(0, 15_000))).rejects.toThrow('unexpected end of file');
  });

  it('reads messages without bytes, with nothing in them, and with a last block (RFC 7692, 7.2.3.4)', () => {
    const ours = inflater();
    expect(ours.inflate(Buffer.alloc(0))).toEqual(Buffer.alloc(0));
    expect(ours.inflate(Buffer.from([0x00]))).toEqual(Buffer.alloc(0));
    const final = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
    expect(ours.inflate(Buffer.from(final))).toEqual(Buffer.from('Hello'));
    expect(ours.inflate(Buffer.from([0xf2, 0x00, 0x11, 0x00, 0x00]))).toEqual(Buffer.from('Hello'));
  });

  it.each([100, 20_000])('rejects what follows the last block, in a message of %d bytes', async (size) => {
    const first = deflateRawSync(randomBytes(size));
    const [one, zero] = [Buffer.from([1]), Buffer.from([0])];
    const second = deflateRawSync('second', { finishFlush: FINISH }).subarray(0, -4);
    for (const more of [second, one, Buffer.concat([zero, zero]), Buffer.concat([zero, second])]) {
      const inflate = async () => inflater().inflate(Buffer.concat([first, more]));
      await expect(inflate()).rejects.toThrow(expect.objectContaining({ code: 'Z_DATA_ERROR' }));
    }
    for (const padding of [Buffer.alloc(0), zero])
      expect((await inflater().inflate(Buffer.concat([first, padding]))).length).toBe(size);
  });

  it('rejects a message that becomes too large, small as it is', async () => {
    const bomb = deflateRawSync(Buffer.alloc(MAX_BYTES + 1), { finishFlush: FINISH }).subarray(0, -4);
    expect(bomb.length).toBeLessThan(8 * 1024);
    await expect(inflater().inflate(bomb)).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_BUFFER_TOO_LARGE' }),
    );
  });
});
