/** Longer than a turn of the event loop may be (`src/kit/async/event-loop.ts`). */
const BLOCK_MS = 15;
const BLOCK_EVERY = 100;

/**
 * How often the event loop turned while these items were read; promises alone never let it turn. The reader is slow, so
 * that the work is long on a fast machine, too.
 */
export const turnsWhileReading = async (items: AsyncIterable<unknown>): Promise<number> => {
  let turns = 0;
  const turned = (): void => {
    turns += 1;
    next = setImmediate(turned);
  };
  let next = setImmediate(turned);
  let read = 0;
  try {
    for await (const _ of items) {
      read += 1;
      if (read % BLOCK_EVERY === 0) block(BLOCK_MS);
    }
  } finally {
    clearImmediate(next);
  }
  return turns;
};

const block = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};
