import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createDeflateRaw, deflateRawSync, type DeflateRaw } from 'node:zlib';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readClientFrame, serverFrame } from '../../../../../test/support/frames.ts';
import { until } from '../../../../../test/support/until.ts';
import { encodeFrame, FrameReader, type Deflate } from './wire.ts';

const MAX_BYTES = 1024 * 1024;
const DEFLATE = { keepsWindow: true, windowBits: 15 };
const [CONTINUATION, TEXT, CLOSE, PING, PONG] = [0, 1, 8, 9, 10];

const reading = (deflate: Deflate | null = DEFLATE, onMessage: (text: string) => void = () => {}) => {
  const heard: string[] = [];
  const reader = new FrameReader(
    {
      onMessage(data, isText) {
        const text = `${isText ? '' : 'binary '}${data.toString('utf8')}`;
        heard.push(text);
        onMessage(text);
      },
      onPing: (data) => heard.push(`ping ${data.toString('utf8')}`),
      onPong: () => heard.push('pong'),
      onCloseFrame: (code) => heard.push(`close ${code}`),
      onBroken: (code) => heard.push(`broken ${code}`),
      onBusy: (isBusy) => heard.push(isBusy ? 'busy' : 'free'),
    },
    { deflate, maxBytes: MAX_BYTES },
  );
  return { reader, heard };
};

/** The first error that nothing catches: it would end the process. */
const uncaughtAfter = async (act: () => void): Promise<unknown> => {
  const uncaught: unknown[] = [];
  const others = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[];
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', (error) => uncaught.push(error));
  try {
    act();
    await until(async () => uncaught.length > 0);
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const other of others) process.on('unhandledRejection', other);
  }
  return uncaught[0];
};

/** A server that deflates with its window, as RFC 7692 says. */
const deflating = () => {
  const stream: DeflateRaw = createDeflateRaw();
  return async (text: string): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    const add = (chunk: Buffer): void => void chunks.push(chunk);
    stream.on('data', add);
    stream.write(text);
    await new Promise<void>((resolve) => {
      stream.flush(constants.Z_SYNC_FLUSH, resolve);
    });
    stream.off('data', add);
    return Buffer.concat(chunks).subarray(0, -4);
  };
};

describe('frames of a server', () => {
  it('are read however they are deflated, divided and cut', async () => {
    const message = fc.record({
      text: fc.oneof(
        fc.string({ maxLength: 200, unit: 'binary' }),
        fc.constantFrom('', '{"type":"response.output_text.delta"}'.repeat(3), 'é😀'.repeat(30_000)),
      ),
      isDeflated: fc.boolean(),
      fragments: fc.integer({ min: 1, max: 4 }),
      hasPing: fc.boolean(),
    });
    const run = fc.asyncProperty(
      fc.array(message, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 20 }),
      async (messages, cuts) => {
        const deflate = deflating();
        const frames: Buffer[] = [];
        const expected: string[] = [];
        for (const { text, isDeflated, fragments, hasPing } of messages) {
          const payload = isDeflated ? await deflate(text.toWellFormed()) : Buffer.from(text.toWellFormed());
          const size = Math.ceil(payload.length / fragments);
          for (let at = 0; at < fragments; at += 1) {
            frames.push(
              serverFrame(at === 0 ? TEXT : CONTINUATION, payload.subarray(at * size, (at + 1) * size), {
                isLast: at === fragments - 1,
                isCompressed: isDeflated && at === 0,
              }),
            );
            // Control frames may stand between fragments.
            if (hasPing && at === 0) frames.push(serverFrame(PING, 'p'));
          }
          if (hasPing && fragments === 1) expected.push(text.toWellFormed(), 'ping p');
          else expected.push(...(hasPing ? ['ping p'] : []), text.toWellFormed());
        }
        const bytes = Buffer.concat(frames);
        const { reader, heard } = reading();
        for (let at = 0, index = 0; at < bytes.length; index += 1) {
          const size = cuts[index % cuts.length] ?? 1;
          reader.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(heard).toEqual(expected);
      },
    );
    await fc.assert(run, { numRuns: 25 });
  });

  it('that arrive together are passed on together', async () => {
    const deflate = deflating();
    const frames: Buffer[] = [];
    for (let index = 0; index < 500; index += 1)
      frames.push(serverFrame(TEXT, await deflate(`word ${index}`), { isCompressed: true }));
    const { reader, heard } = reading();
    reader.push(Buffer.concat(frames));
    // Before any microtask.
    expect([heard.length, heard.at(-1)]).toEqual([500, 'word 499']);
  });

  it('are inflated in another thread if they are large, in order', async () => {
    const deflate = deflating();
    const large = 'a'.repeat(MAX_BYTES);
    const { reader, heard } = reading();
    reader.push(serverFrame(TEXT, await deflate(large), { isCompressed: true }));
    reader.push(serverFrame(TEXT, await deflate('aaaa small'), { isCompressed: true }));
    expect(heard).toEqual(['busy']);
    await until(async () => heard.length === 4);
    expect(heard).toEqual(['busy', large, 'aaaa small', 'free']);
  });

  it('need no window if the server keeps none', () => {
    const { reader, heard } = reading({ keepsWindow: false, windowBits: 15 });
    const deflated = deflateRawSync('twice', { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    for (let index = 0; index < 2; index += 1)
      reader.push(serverFrame(TEXT, deflated, { isCompressed: true }));
    expect(heard).toEqual(['twice', 'twice']);
  });

  it('may be closed blocks of deflate', () => {
    const { reader, heard } = reading();
    const whole = Buffer.concat([deflateRawSync('first'), Buffer.from([0])]);
    const second = deflateRawSync('first, second', {
      finishFlush: constants.Z_SYNC_FLUSH,
      dictionary: Buffer.from('first'),
    });
    reader.push(serverFrame(TEXT, whole, { isCompressed: true }));
    reader.push(serverFrame(TEXT, second.subarray(0, -4), { isCompressed: true }));
    expect(heard).toEqual(['first', 'first, second']);
  });

  it.each([
    ['a mask', Buffer.from([0x81, 0x80, 0, 0, 0, 0]), 1002],
    ['a reserved bit', Buffer.from([0xa1, 0]), 1002],
    ['an opcode that does not exist', serverFrame(3), 1002],
    ['a control opcode that does not exist', serverFrame(11), 1002],
    ['a continuation of nothing', serverFrame(CONTINUATION, 'x'), 1002],
    [
      'a new message within another',
      Buffer.concat([serverFrame(TEXT, 'a', { isLast: false }), serverFrame(TEXT, 'b')]),
      1002,
    ],
    [
      'a deflated continuation',
      Buffer.concat([
        serverFrame(TEXT, 'a', { isLast: false }),
        serverFrame(CONTINUATION, 'b', { isCompressed: true }),
      ]),
      1002,
    ],
    ['a ping in fragments', serverFrame(PING, '', { isLast: false }), 1002],
    ['a deflated ping', serverFrame(PING, '', { isCompressed: true }), 1002],
    ['a large ping', serverFrame(PING, 'x'.repeat(126)), 1002],
    ['half a close code', serverFrame(CLOSE, 'x'), 1002],
    ['what is not deflated', serverFrame(TEXT, Buffer.from([0xff, 0xff]), { isCompressed: true }), 1002],
    [
      'more than one deflated text',
      serverFrame(TEXT, Buffer.concat([deflateRawSync('a'), deflateRawSync('b')]), { isCompressed: true }),
      1002,
    ],
    ['text that is not UTF-8', serverFrame(TEXT, Buffer.from([0xc3, 0x28])), 1007],
    ['a message that is too large', serverFrame(TEXT, Buffer.alloc(MAX_BYTES + 1)).subarray(0, 20), 1009],
    ['a length beyond all numbers', Buffer.from([0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255]), 1009],
    [
      'fragments that are too large',
      Buffer.concat([
        serverFrame(TEXT, Buffer.alloc(MAX_BYTES), { isLast: false }),
        serverFrame(CONTINUATION, 'x'),
      ]),
      1009,
    ],
  ])('are refused with %s', async (_, bytes, code) => {
    const { reader, heard } = reading();
    reader.push(bytes);
    reader.push(serverFrame(TEXT, 'late'));
    expect(heard).toEqual([`broken ${code}`]);
  });

  const closing = (code: number): string[] => {
    const { reader, heard } = reading();
    reader.push(serverFrame(CLOSE, Buffer.from([code >> 8, code & 0xff])));
    return heard;
  };

  it.each([1000, 1003, 1007, 1014, 3000, 4999])('may close with %d', (code) => {
    expect(closing(code)).toEqual([`close ${code}`]);
  });

  it.each([0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535])('may not close with %d', (code) => {
    expect(closing(code)).toEqual(['broken 1002']);
  });

  it('are refused if they were not to be deflated', () => {
    const { reader, heard } = reading(null);
    reader.push(serverFrame(TEXT, 'x', { isCompressed: true }));
    expect(heard).toEqual(['broken 1002']);
  });

  it('are refused if they become too large', async () => {
    const { reader, heard } = reading();
    const bomb = deflateRawSync(Buffer.alloc(MAX_BYTES + 1), { finishFlush: constants.Z_SYNC_FLUSH });
    reader.push(serverFrame(TEXT, bomb.subarray(0, -4), { isCompressed: true }));
    await until(async () => heard.length > 1);
    expect(heard).toEqual(['busy', 'broken 1009']);
  });

  it('are not read after the one that closes, nor after a stop', async () => {
    const { reader, heard } = reading();
    reader.push(Buffer.concat([serverFrame(PONG), serverFrame(CLOSE), serverFrame(TEXT, 'late')]));
    expect(heard).toEqual(['pong', 'close 1005']);
    const stopped = reading();
    const large = deflateRawSync(Buffer.alloc(MAX_BYTES), { finishFlush: constants.Z_SYNC_FLUSH });
    stopped.reader.push(serverFrame(TEXT, large, { isCompressed: true }));
    stopped.reader.stop();
    await sleep(50);
    expect(stopped.heard).toEqual(['busy']);
  });

  it('close the socket if their reader throws, and the error is not lost', async () => {
    const message = Buffer.alloc(MAX_BYTES, 'a');
    const large = deflateRawSync(message, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    const bug = new Error('a bug of the reader');
    const fails = (): never => {
      throw bug;
    };
    const { reader: small, heard: heardSmall } = reading(DEFLATE, fails);
    expect(() => small.push(serverFrame(TEXT, 'a'))).toThrow(bug);
    expect(heardSmall).toEqual(['a', 'broken 1002']);
    const { reader, heard } = reading(DEFLATE, fails);
    const sendLarge = () => reader.push(serverFrame(TEXT, large, { isCompressed: true }));
    expect(await uncaughtAfter(sendLarge)).toBe(bug);
    expect(heard).toEqual(['busy', message.toString(), 'broken 1002']);
    // In a small message that has waited for a large one.
    const late = reading(DEFLATE, (text) => (text === 'b' ? fails() : undefined));
    const sendBoth = () => {
      late.reader.push(serverFrame(TEXT, large, { isCompressed: true }));
      late.reader.push(serverFrame(TEXT, 'b'));
    };
    expect(await uncaughtAfter(sendBoth)).toBe(bug);
    expect(late.heard).toEqual(['busy', message.toString(), 'b', 'broken 1002']);
  });
});

describe('encodeFrame', () => {
  it.each([0, 1, 5, 125, 126, 127, 65_535, 65_536, 70_001])('masks a payload of %d bytes', (length) => {
    const payload = Buffer.from(Array.from({ length }, (_, at) => at % 251));
    const frame = encodeFrame({ opcode: 1, payload });
    expect(readClientFrame(frame)).toEqual({ opcode: 1, isLast: true, isCompressed: false, payload });
    expect(encodeFrame({ opcode: 1, payload }).equals(frame)).toBe(false);
  });
});
