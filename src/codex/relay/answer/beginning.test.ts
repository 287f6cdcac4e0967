import { describe, expect, it } from 'vitest';

import { failure } from '../../../canonical/failure/failure.ts';
import { passOn, readBeginning, type Beginning } from './beginning.ts';

const CREATED = 'event: response.created\ndata: {}\n\n';
const FAILED = 'event: response.failed\ndata: {"x":1}\n\n';
const TEXT = 'event: response.output_text.delta\ndata: {}\n\n';

type Step = string | Error;
async function* stream(...steps: readonly Step[]): AsyncGenerator<Buffer> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    yield Buffer.from(step);
  }
}

const begin = (first: string, chunks: AsyncIterator<Buffer>, withinMs = 60_000): Promise<Beginning> =>
  readBeginning(Buffer.from(first), chunks, withinMs, {
    toFailure: (event) => failure('upstream_error', { message: JSON.stringify(event) }),
    onLife() {},
  });
const textOf = async (beginning: Beginning, chunks: AsyncIterator<Buffer>): Promise<string> => {
  let text = '';
  for await (const chunk of passOn(beginning, chunks)) text += chunk.toString();
  return text;
};

describe('the beginning of a stream', () => {
  it('ends with the first event that says something', async () => {
    const chunks = stream(CREATED, TEXT, FAILED);
    const beginning = await begin(CREATED, chunks);
    expect([beginning.held.length, beginning.failure]).toEqual([3, null]);
    expect(await textOf(beginning, chunks)).toBe(CREATED + CREATED + TEXT + FAILED);
  });

  it('may be that it failed', async () => {
    const chunks = stream(FAILED.slice(10));
    const beginning = await begin(CREATED + FAILED.slice(0, 10), chunks);
    expect(beginning.failure).toEqual(failure('upstream_error', { message: '{"x":1}' }));
    expect(await textOf(beginning, chunks)).toBe(CREATED + FAILED);
  });

  it('is not waited for longer than is said, and nothing is lost', async () => {
    const idleTimer = Promise.withResolvers<void>();
    const chunks = (async function* () {
      await idleTimer.promise;
      yield Buffer.from(TEXT);
    })();
    const beginning = await begin(CREATED, chunks, 5);
    expect([beginning.held.length, beginning.failure]).toEqual([1, null]);
    idleTimer.resolve();
    expect(await textOf(beginning, chunks)).toBe(CREATED + TEXT);
  });

  it('that breaks off does so where it did', async () => {
    const chunks = stream(CREATED, new Error('cut'));
    const beginning = await begin(CREATED, chunks);
    expect(beginning.held).toHaveLength(2);
    await expect(textOf(beginning, chunks)).rejects.toThrow('cut');
  });

  it('that is all there is ends', async () => {
    const chunks = stream();
    expect(await textOf(await begin(CREATED, chunks), chunks)).toBe(CREATED);
  });
});
