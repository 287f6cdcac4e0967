import type { OneOrMore } from '../collections/lists.ts';

type NextStep<T> =
  | { readonly index: number; readonly step: IteratorResult<T> }
  | { readonly index: number; readonly error: unknown };

/**
 * The values of several sources in order of arrival, each with the index of its source. Reads at most one value of each
 * ahead. Returning early, or an error of one source, ends all; a source that waits needs a signal of its own to stop.
 */
export async function* interleave<T>(
  sources: OneOrMore<AsyncIterable<T>>,
): AsyncGenerator<readonly [index: number, value: T]> {
  const [first, second] = sources;
  if (second === undefined) {
    // The usual case, which must be cheap.
    for await (const value of first) yield [0, value];
    return;
  }
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const arrived: NextStep<T>[] = [];
  let wake: () => void = () => {};
  const ask = async (iterator: AsyncIterator<T>, index: number): Promise<void> => {
    try {
      arrived.push({ index, step: await iterator.next() });
    } catch (error) {
      arrived.push({ index, error });
    }
    wake();
  };
  let running = iterators.length;
  try {
    for (const [index, iterator] of iterators.entries()) void ask(iterator, index);
    while (running > 0) {
      const next = arrived.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if ('error' in next) throw next.error;
      const { index, step } = next;
      const iterator = iterators[index];
      if (step.done === true || iterator === undefined) {
        running -= 1;
        continue;
      }
      yield [index, step.value];
      void ask(iterator, index);
    }
  } finally {
    await Promise.all(iterators.map(async (iterator) => iterator.return?.()));
  }
}
