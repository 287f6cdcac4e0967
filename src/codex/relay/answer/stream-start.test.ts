import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { failure } from '../../../canonical/failure/failure.ts';
import { chunksOf, replayThenRead, readStreamStart, type StreamStart } from './stream-start.ts';
import { SseEvents } from './sse-events.ts';

const CREATED = 'event: response.created\ndata: {}\n\n';
const FAILED = 'event: response.failed\ndata: {"x":1}\n\n';
const TEXT = 'event: response.output_text.delta\ndata: {}\n\n';

type Chunk = string | Error;
async function* stream(...steps: readonly Chunk[]): AsyncGenerator<Buffer> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    yield Buffer.from(step);
  }
}

const begin = (first: string, chunks: AsyncIterator<Buffer>, withinMs = 60_000): Promise<StreamStart> =>
  readStreamStart(Buffer.from(first), chunks, withinMs, {
    toFailure: (event) => failure('upstream_error', { message: JSON.stringify(event) }),
    onActivity() {},
  });
const textOf = async (streamStart: StreamStart, chunks: AsyncIterator<Buffer>): Promise<string> => {
  const events = streamStart.events ?? new SseEvents();
  const bytes: Uint8Array[] = [];
  for await (const chunk of replayThenRead(streamStart, chunks)) {
    const parts = chunk instanceof Uint8Array ? events.push(chunk) : chunk;
    bytes.push(...parts.map((part) => part.bytes));
  }
  return Buffer.concat([...bytes, events.end().bytes]).toString();
};

describe('the start of a stream', () => {
  it('ends with the first event of the answer', async () => {
    const chunks = stream(CREATED, TEXT, FAILED);
    const streamStart = await begin(CREATED, chunks);
    expect([streamStart.held.length, streamStart.failure]).toEqual([3, null]);
    expect(await textOf(streamStart, chunks)).toBe(CREATED + CREATED + TEXT + FAILED);
  });

  it('may be a failure', async () => {
    const chunks = stream(FAILED.slice(10));
    const streamStart = await begin(CREATED + FAILED.slice(0, 10), chunks);
    expect(streamStart.failure).toEqual(failure('upstream_error', { message: '{"x":1}' }));
    expect(await textOf(streamStart, chunks)).toBe(CREATED + FAILED);
  });

  it('is limited in time, without losing anything', async () => {
    const idleTimer = Promise.withResolvers<void>();
    const chunks = (async function* () {
      await idleTimer.promise;
      yield Buffer.from(TEXT);
    })();
    const streamStart = await begin(CREATED, chunks, 5);
    expect([streamStart.held.length, streamStart.failure]).toEqual([1, null]);
    idleTimer.resolve();
    expect(await textOf(streamStart, chunks)).toBe(CREATED + TEXT);
  });

  it('reports a disconnect where it happened', async () => {
    const chunks = stream(CREATED, new Error('cut'));
    const streamStart = await begin(CREATED, chunks);
    expect(streamStart.held).toHaveLength(2);
    await expect(textOf(streamStart, chunks)).rejects.toThrow('cut');
  });

  it('may be the whole stream', async () => {
    const chunks = stream();
    expect(await textOf(await begin(CREATED, chunks), chunks)).toBe(CREATED);
  });
});

describe('chunksOf', () => {
  const body = () => {
    const source = new PassThrough();
    return { source, chunks: chunksOf(source) };
  };
  const turnOfLoop = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });

  it('gives each chunk as it arrives, then the end', async () => {
    const { source, chunks } = body();
    const first = chunks.next();
    source.write('one');
    expect(String((await first).value)).toBe('one');
    source.write('two');
    await turnOfLoop();
    source.end('three');
    expect([String((await chunks.next()).value), String((await chunks.next()).value)]).toEqual([
      'two',
      'three',
    ]);
    expect([await chunks.next(), await chunks.next()]).toEqual(
      Array.from({ length: 2 }, () => ({ done: true, value: undefined })),
    );
  });

  it('takes no more than one chunk ahead of its reader', async () => {
    const { source, chunks } = body();
    const first = chunks.next();
    for (let nth = 0; nth < 64; nth += 1) source.write(Buffer.alloc(16 * 1024));
    await first;
    for (let nth = 0; nth < 20; nth += 1) await turnOfLoop();
    expect(source.isPaused()).toBe(true);
    expect(source.writableNeedDrain).toBe(true);
    let bytes = 16 * 1024;
    source.end();
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next())
      bytes += next.value.length;
    expect(bytes).toBe(64 * 16 * 1024);
  });

  it('throws the error of the body after what it had, and an error for one that was closed early', async () => {
    const broken = body();
    const first = broken.chunks.next();
    broken.source.destroy(new Error('reset'));
    await expect(first).rejects.toThrow('reset');
    await expect(broken.chunks.next()).rejects.toThrow('reset');
    const closed = body();
    const waiting = closed.chunks.next();
    closed.source.destroy();
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
  });

  it('destroys a body that is left early', async () => {
    const { source, chunks } = body();
    const first = chunks.next();
    source.write('one');
    await first;
    await chunks.return?.();
    expect([source.destroyed, (await chunks.next()).done]).toEqual([true, true]);
  });
});
