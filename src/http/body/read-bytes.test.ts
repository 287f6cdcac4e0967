import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';

import { readChunks, setIncoming, readBytes, type ReadLimits } from './read-bytes.ts';
import { failure, failureOf, gatewayError, type Failure } from '../../canonical/failure/failure.ts';

const post = (body?: string): Request =>
  new Request('http://localhost/', { method: 'POST', ...(body === undefined ? {} : { body }) });

/** A request from a socket, whose body the test sends. */
const fromSocket = () => {
  const incoming = new IncomingMessage(new Socket());
  const request = post();
  setIncoming(request, incoming);
  const seen: string[] = [];
  const reading = readChunks(request, (chunk) => {
    if (seen.push(Buffer.from(chunk).toString()) > 2) throw new Error('too much');
  });
  return { incoming, request, seen, reading };
};

describe('readChunks', () => {
  it('reads the stream of the socket, once', async () => {
    const { incoming, request, seen, reading } = fromSocket();
    incoming.push('one');
    incoming.push('two');
    incoming.push(null);
    await reading;
    await readChunks(request, () => seen.push('again'));
    expect(seen.join(' ')).toBe('one two');
  });

  it('stops at an error of the reader', async () => {
    const { incoming, seen, reading } = fromSocket();
    const failed = reading.catch((error: unknown) => error);
    for (const chunk of ['1', '2', '3', '4']) {
      incoming.push(chunk);
      await new Promise(setImmediate);
    }
    expect([await failed, seen, incoming.isPaused()]).toEqual([new Error('too much'), ['1', '2', '3'], true]);
  });

  it('fails if the client leaves', async () => {
    const { incoming, reading } = fromSocket();
    incoming.push('half');
    incoming.destroy();
    await expect(reading).rejects.toThrow('the client has disconnected');
  });

  it('reads a request without a socket', async () => {
    const seen: string[] = [];
    await readChunks(post('a body'), (chunk) => seen.push(Buffer.from(chunk).toString()));
    await readChunks(post(), () => seen.push('nothing'));
    expect(seen).toEqual(['a body']);
  });
});

type Compress = (bytes: Uint8Array) => Buffer<ArrayBuffer>;

const ENCODINGS: readonly (readonly [string, Compress])[] = [
  ['gzip', gzipSync],
  ['X-GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  [' zstd ', zstdCompressSync],
];

const sent = (body: Uint8Array<ArrayBuffer>, encoding: string): Request =>
  new Request('http://proxy.test/', { method: 'POST', body, headers: { 'content-encoding': encoding } });

const refusal = async (asked: Request, limits: ReadLimits = { maxBytes: 1000 }): Promise<Failure | null> => {
  try {
    await readBytes(asked, limits);
  } catch (error) {
    return failureOf(error);
  }
  return null;
};

const LONG = Buffer.alloc(1001, 'x');

describe.each(ENCODINGS)('a body in %s', (encoding, compress) => {
  const broken = failure('invalid_json', {
    message: `The request body is not a complete ${encoding.trim().toLowerCase()} stream, although its content-encoding says so.`,
  });

  it('is decompressed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 1000 }), async (bytes) => {
        const read = await readBytes(sent(compress(bytes), encoding), { maxBytes: 2000 });
        expect(read.equals(bytes)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it('is limited by its decompressed size', async () => {
    expect(await refusal(sent(compress(LONG.subarray(1)), encoding))).toBeNull();
    expect(await refusal(sent(compress(LONG), encoding))).toEqual(
      failure('request_too_large', { message: 'The request body is larger than the 1000 bytes allowed.' }),
    );
  });

  it('is rejected if it is truncated, empty, in another format, or has trailing bytes', async () => {
    const whole = compress(LONG);
    const bad = [
      whole.subarray(0, whole.length - 2),
      new Uint8Array(),
      Buffer.from('{"a":1}'),
      Buffer.concat([whole, Buffer.from('{}')]),
    ];
    const told = await Promise.all(bad.map((body) => refusal(sent(body, encoding), { maxBytes: 10_000 })));
    expect(told).toEqual([broken, broken, broken, broken]);
  });

  it('counts its decompressed pieces in the budget of all requests', async () => {
    const counted: number[] = [];
    const room = { caller: 'me', start: async () => {}, grow: (bytes: number) => void counted.push(bytes) };
    await readBytes(sent(compress(Buffer.alloc(1_000_000)), encoding), { maxBytes: 1_000_000, room });
    // The first one is the compressed body: a request made here declares no length.
    const [, ...pieces] = counted;
    expect(pieces.reduce((sum, piece) => sum + piece, 0)).toBe(1_000_000);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(65_536);
  });

  it('is decompressed only as far as there is room', async () => {
    const refused = gatewayError('server_overloaded', { retryAfterSeconds: 3 });
    let left = 100_000;
    const grow = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw refused;
    };
    const bomb = sent(compress(Buffer.alloc(4_000_000)), encoding);
    expect(
      await refusal(bomb, { maxBytes: 1e9, room: { caller: 'me', start: async () => {}, grow } }),
    ).toEqual(refused.failure);
    expect(left).toBeGreaterThan(-65_536);
  });
});

describe('a body', () => {
  it.each(['compress', 'gzip, br', 'identity, gzip', 'toString', 'x'.repeat(2000)])(
    'in %s cannot be read, and what can be is said',
    async (encoding) => {
      const shown = encoding.length > 100 ? `${encoding.slice(0, 100)}…` : encoding.toLowerCase();
      expect(await refusal(sent(Buffer.from('{}'), encoding))).toEqual(
        failure('unsupported_value', {
          message: `Unsupported content encoding: '${shown}'. Use one of gzip, x-gzip, deflate, br, zstd, or none.`,
        }),
      );
    },
  );

  it('without an encoding is read unchanged', async () => {
    expect(await readBytes(sent(Buffer.from('{}'), 'Identity'), { maxBytes: 2 })).toEqual(Buffer.from('{}'));
  });

  it('may not use a larger window than HTTP allows', async () => {
    const wide = { params: { [constants.ZSTD_c_windowLog]: 25 } };
    // A window is at most as large as the content.
    const body = zstdCompressSync(Buffer.alloc(20_000_000), wide);
    expect(await refusal(sent(body, 'zstd'), { maxBytes: 1e9 })).toMatchObject({ code: 'invalid_json' });
  });

  it('does not hold up a caller that stops waiting for a decoder', async () => {
    const client = new AbortController();
    const body = gzipSync(Buffer.alloc(1_000_000));
    const ask = (signal: AbortSignal): Promise<Buffer> =>
      readBytes(new Request(sent(body, 'gzip'), { signal }), { maxBytes: 1e9 });
    const stays = new AbortController().signal;
    const all = [ask(stays), ask(stays), ask(client.signal)];
    client.abort(new Error('gone'));
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });
});
