import { describe, expect, it } from 'vitest';

import { KeyStorage } from './key-storage.ts';

const GB = 1024 ** 3;

/** A key with this limit, and a store whose reads are answered by hand. */
const start = (defaultMb: number) => {
  const reads: PromiseWithResolvers<number>[] = [];
  const storage = new KeyStorage({
    directory: { byId: () => null },
    store: {
      bytes: () => {
        const read = Promise.withResolvers<number>();
        reads.push(read);
        return read.promise;
      },
    },
    defaultMb,
  });
  const isRefused = (): Promise<boolean> =>
    storage.check('key').then(
      () => false,
      () => true,
    );
  return { reads, isRefused };
};

describe('a request that will be stored', () => {
  it('waits for the first read, and then passes without one while there is ample room', async () => {
    const { reads, isRefused } = start(5_000);
    const first = isRefused();
    reads[0]?.resolve(GB);
    expect(await first).toBe(false);
    // The second read is not answered.
    expect(await isRefused()).toBe(false);
    expect(reads).toHaveLength(2);
  });

  it('waits for a read that runs: at most one passes by an old number', async () => {
    const { reads, isRefused } = start(5_000);
    const first = isRefused();
    reads[0]?.resolve(0);
    await first;
    await isRefused();
    const third = isRefused();
    reads[1]?.resolve(5 * GB);
    expect(await third).toBe(true);
    const fourth = isRefused();
    reads[2]?.resolve(5 * GB);
    expect(await fourth).toBe(true);
  });

  it('waits for the database if there is little room, and passes if it is away', async () => {
    const { reads, isRefused } = start(1_000);
    for (const [at, used] of [0, GB].entries()) {
      const asked = isRefused();
      reads[at]?.resolve(used);
      expect(await asked).toBe(used > 0);
    }
    const away = isRefused();
    reads[2]?.reject(new Error('away'));
    expect(await away).toBe(false);
  });
});
