import { describe, expect, it } from 'vitest';

import { failure } from '../../../canonical/failure/failure.ts';
import { replayThenRead, readStreamStart, type StreamStart } from './stream-start.ts';

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
  let text = '';
  for await (const chunk of replayThenRead(streamStart, chunks)) text += chunk.toString();
  return text;
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
