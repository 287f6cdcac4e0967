import { describe, expect, it } from 'vitest';
import { gatewayError, failure, failureOf } from '../../canonical/failure/failure.ts';
import type { Failure } from '../../canonical/failure/failure.ts';
import { readJson } from './read-json.ts';

const request = (
  body: string | Uint8Array<ArrayBuffer> | null,
  headers: Record<string, string> = {},
): Request => new Request('http://proxy.test/', { method: 'POST', body, headers });

const refusal = async (asked: Request, maxBytes = 1000): Promise<Failure | null> => {
  try {
    await readJson(asked, { maxBytes });
  } catch (error) {
    return failureOf(error);
  }
  return null;
};

/** A chunked body, which declares no length, and a record of how much was read. */
const chunked = (
  chunks: readonly string[],
): { asked: Request; seen: { pulled: number; cancelled: boolean } } => {
  const seen = { pulled: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[seen.pulled];
        if (chunk === undefined) {
          controller.close();
          return;
        }
        seen.pulled += 1;
        controller.enqueue(new TextEncoder().encode(chunk));
      },
      cancel() {
        seen.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { asked: new Request('http://proxy.test/', { method: 'POST', body, duplex: 'half' }), seen };
};

const tooLarge = failure('request_too_large', {
  message: 'The request body is larger than the 1000 bytes allowed.',
});

describe('readJson', () => {
  it.each([[{ 'content-type': 'application/json' }], [{ 'content-type': 'text/plain' }], [{}]])(
    'reads JSON with the headers %j',
    async (headers) => {
      expect(await readJson(request('{"a":[1,"é"]}', headers), { maxBytes: 1000 })).toEqual({ a: [1, 'é'] });
    },
  );

  it('reads a body whose characters are split between chunks, after a byte order mark', async () => {
    const bytes = Buffer.from('\u{feff}{"a":"é😀"}');
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const asked = new Request('http://proxy.test/', { method: 'POST', body, duplex: 'half' });
    expect(await readJson(asked, { maxBytes: 1000 })).toEqual({ a: 'é😀' });
  });

  it('accepts a body of exactly the allowed size', async () => {
    const text = JSON.stringify('x'.repeat(998));
    expect(await readJson(request(text), { maxBytes: 1000 })).toBe('x'.repeat(998));
  });

  it('rejects by the declared length without reading', async () => {
    const { asked, seen } = chunked(['"x"']);
    asked.headers.set('content-length', '1001');
    expect(await refusal(asked)).toEqual(tooLarge);
    expect(seen).toEqual({ pulled: 0, cancelled: false });
  });

  it('announces the length, and counts a small body at once, any other as it arrives', async () => {
    const told: unknown[] = [];
    const room = {
      caller: 'me',
      start: async (bytes: number) => void told.push(['start', bytes]),
      grow: (bytes: number) => void told.push(['grow', bytes]),
    };
    await readJson(request('{"a":1}', { 'content-length': '7' }), { maxBytes: 1000, room });
    await readJson(chunked(['{"a"', ':1}']).asked, { maxBytes: 1000, room });
    const large = chunked(['"x', 'x'.repeat(100_000), '"']).asked;
    large.headers.set('content-length', '100003');
    await readJson(large, { maxBytes: 1_000_000, room });
    expect(told).toEqual([
      ['start', 7],
      ['grow', 7],
      ['start', 0],
      ['grow', 4],
      ['grow', 3],
      ['start', 100_003],
      ['grow', 2],
      ['grow', 100_000],
      ['grow', 1],
    ]);
  });

  it('reads nothing if the budget is exhausted, and throws its failure', async () => {
    const refused = gatewayError('server_overloaded', { retryAfterSeconds: 3 });
    const { asked, seen } = chunked(['{"a"', ':1}', 'x']);
    const start = async (): Promise<void> => {};
    const grow = (bytes: number): void => {
      if (bytes === 3) throw refused;
    };
    await expect(readJson(asked, { maxBytes: 1000, room: { caller: 'me', start, grow } })).rejects.toBe(
      refused,
    );
    expect(seen).toEqual({ pulled: 2, cancelled: true });
    const none = chunked(['{}']);
    const room = { caller: 'me', start: () => Promise.reject(refused), grow };
    await expect(readJson(none.asked, { maxBytes: 1000, room })).rejects.toBe(refused);
    expect(none.seen).toEqual({ pulled: 0, cancelled: false });
  });

  it('counts while it reads, and stops', async () => {
    const { asked, seen } = chunked(['x'.repeat(600), 'x'.repeat(600), 'x'.repeat(600), 'x'.repeat(600)]);
    expect(await refusal(asked)).toEqual(tooLarge);
    expect(seen).toEqual({ pulled: 2, cancelled: true });
  });

  it.each([
    ['no body', null],
    ['an empty body', ''],
    ['half a body', '{"a":'],
    ['no JSON', 'a=1'],
    ['two values', '{}{}'],
  ])('rejects %s', async (_, body) => {
    expect(await refusal(request(body))).toEqual(failure('invalid_json'));
  });

  it('rejects bytes that are not UTF-8', async () => {
    expect(await refusal(request(Uint8Array.of(0x22, 0xff, 0x22)))).toEqual(failure('invalid_json'));
  });

  it('rejects deep nesting', async () => {
    expect(await refusal(request('['.repeat(101) + ']'.repeat(101)))).toEqual(
      failure('invalid_json', {
        message: 'The JSON body is nested too deeply: at most 100 levels are allowed.',
      }),
    );
    expect(await refusal(request('['.repeat(100) + ']'.repeat(100)))).toBeNull();
  });

  it('rejects too many members', async () => {
    const members = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`;
    expect(await refusal(request(members(10_001)), 1e6)).toEqual(
      failure('invalid_json', {
        message: 'The JSON body has an object with too many members: at most 10000 are allowed.',
      }),
    );
    expect(await refusal(request(members(10_000)), 1e6)).toBeNull();
    expect(await refusal(request(`[${'0,'.repeat(2_000_000)}0]`), 1e7)).toEqual(
      failure('invalid_json', {
        message: 'The JSON body has too many values: at most 2000000 are allowed.',
      }),
    );
  });

  it('reports a truncated body', async () => {
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error('ECONNRESET at /internal/path'));
      },
    });
    const asked = new Request('http://proxy.test/', { method: 'POST', body, duplex: 'half' });
    expect(await refusal(asked)).toEqual(
      failure('invalid_json', { message: 'The request body could not be read completely.' }),
    );
  });
});
