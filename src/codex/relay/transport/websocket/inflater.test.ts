import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Inflater } from './inflater.ts';

const FINISH = constants.Z_SYNC_FLUSH;
const MAX_BYTES = 1024 * 1024;
const TRAILER = Buffer.from([0, 0, 0xff, 0xff]);

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

  it('reads nothing else than zlib does in damaged messages', async () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    const run = fc.asyncProperty(text, settings, damage, async (message, setting, changes) => {
      const deflated = deflateRawSync(message, { ...setting, finishFlush: FINISH }).subarray(0, -4);
      for (const [at, value] of changes) deflated[at % deflated.length] = value;
      const result = await Promise.resolve()
        .then(() => inflater().inflate(deflated))
        .catch((error: unknown) => (error as { code: string }).code);
      if (typeof result === 'string') expect(['Z_DATA_ERROR', 'ERR_BUFFER_TOO_LARGE']).toContain(result);
      else {
        const theirs = inflateRawSync(Buffer.concat([deflated, TRAILER]), { finishFlush: FINISH });
        expect(result.equals(theirs)).toBe(true);
      }
    });
    await fc.assert(run, { numRuns: 500 });
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
    ['a distance is too far', [0x03, 0x02, 0x00]],
    ['a block has no kind', [0x07]],
    ['a block has two lengths', [0x01, 0x01, 0x00, 0x00, 0x00]],
    ['a block is cut', [0x01, 0xff, 0x00, 0x00, 0xff]],
  ])('says that %s', (message, bytes) => {
    expect(() => inflater().inflate(Buffer.from(bytes))).toThrow(message);
  });
});
