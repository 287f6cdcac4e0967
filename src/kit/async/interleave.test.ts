import { describe, expect, it } from 'vitest';

import { interleave } from './interleave.ts';

/** A source that the test controls, and that records whether it was returned. */
const source = () => {
  const waiting: ((step: IteratorResult<string>) => void)[] = [];
  let returned = 0;
  const give = (step: IteratorResult<string>): void => waiting.shift()?.(step);
  return {
    say: (value: string) => give({ done: false, value }),
    end: () => give({ done: true, value: undefined }),
    returned: () => returned,
    asked: () => waiting.length,
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<IteratorResult<string>>((resolve) => waiting.push(resolve)),
      return: () => {
        returned += 1;
        return Promise.resolve({ done: true as const, value: undefined });
      },
    }),
  };
};

async function* list(...values: string[]): AsyncGenerator<string> {
  yield* values;
}

describe('interleave', () => {
  it('yields values in order of arrival, with the index of their source', async () => {
    const [a, b] = [source(), source()];
    const all = interleave([a, b]);
    const first = all.next();
    b.say('b1');
    expect(await first).toEqual({ done: false, value: [1, 'b1'] });
    const second = all.next();
    a.say('a1');
    expect(await second).toEqual({ done: false, value: [0, 'a1'] });
    const third = all.next();
    b.end();
    a.say('a2');
    expect(await third).toEqual({ done: false, value: [0, 'a2'] });
    const end = all.next();
    a.end();
    expect(await end).toEqual({ done: true, value: undefined });
  });

  it('yields the values of a single source, and returns it', async () => {
    const one = source();
    const all = interleave([one]);
    const first = all.next();
    one.say('a');
    expect(await first).toEqual({ done: false, value: [0, 'a'] });
    await all.return(undefined);
    expect(one.returned()).toBe(1);
  });

  it('does not let a ready source starve another', async () => {
    const seen: string[] = [];
    for await (const [index, value] of interleave([list('1', '2', '3'), list('1', '2', '3')])) {
      seen.push(`${index}${value}`);
    }
    expect(seen).toEqual(['01', '11', '02', '12', '03', '13']);
  });

  it('reads one value of each source at a time', async () => {
    const [a, b] = [source(), source()];
    const all = interleave([a, b]);
    const first = all.next();
    a.say('a1');
    await first;
    // The reader has the value; no source is read until it asks again.
    expect([a.asked(), b.asked()]).toEqual([0, 1]);
  });

  it('returns all sources when the reader stops', async () => {
    const [a, b] = [source(), source()];
    const all = interleave([a, b]);
    const first = all.next();
    a.say('a1');
    await first;
    await all.return(undefined);
    expect([a.returned(), b.returned()]).toEqual([1, 1]);
  });

  it('returns all sources when one throws, and rethrows its error', async () => {
    async function* broken(): AsyncGenerator<string> {
      yield 'x';
      throw new Error('broken');
    }
    const other = source();
    const all = interleave([other, broken()]);
    expect(await all.next()).toEqual({ done: false, value: [1, 'x'] });
    await expect(all.next()).rejects.toThrow('broken');
    expect(other.returned()).toBe(1);
  });
});
