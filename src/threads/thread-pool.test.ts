import { afterEach, describe, expect, it } from 'vitest';

import { besideModule, createThreadPool, type ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

/** The jobs of these tests. */
export type TestJob =
  | { readonly say: string }
  | { readonly hang: true }
  | { readonly die: true }
  | { readonly eat: true };

const open: ThreadPool<TestJob, string>[] = [];
const openPool = (different: Partial<ThreadPoolOptions> = {}): ThreadPool<TestJob, string> => {
  const pool = createThreadPool<TestJob, string>({
    file: new URL('../../test/support/test-thread.ts', import.meta.url),
    threads: 1,
    timeoutMs: 20_000,
    waitMs: 20_000,
    maxWaiting: 10,
    maxMemoryMb: 32,
    ...different,
  });
  open.push(pool);
  return pool;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});

const done = (result: string) => ({ kind: 'done', result });
const givenUp = (reason: string) => ({ kind: 'given-up', reason });

describe('createThreadPool', () => {
  it('runs jobs in order, and in parallel with several threads', async () => {
    const pool = openPool({ threads: 2 });
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((say) => pool.run({ say }, 'a'));
    expect(await Promise.all(jobs)).toEqual(['a', 'b', 'c', 'd', 'e'].map(done));
  });

  it('alternates between keys', async () => {
    const pool = openPool();
    const order: unknown[] = [];
    const jobs = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(async (say) => {
      await pool.run({ say }, say.slice(0, 1));
      order.push(say);
    });
    await Promise.all(jobs);
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('keeps a thread free for other keys', async () => {
    const pool = openPool({ threads: 3 });
    const hanging = Array.from({ length: 4 }, () => pool.run({ hang: true }, 'a'));
    expect(await pool.run({ say: 'not held up' }, 'b')).toEqual(done('not held up'));
    await pool.close();
    expect(await Promise.all(hanging)).toEqual(hanging.map(() => givenUp('broken')));
  });

  it('drops the newest job of the key with the most when too many wait', async () => {
    const pool = openPool({ maxWaiting: 3 });
    const waiting = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((say) => pool.run({ say }, say.slice(0, 1)));
    expect(await Promise.all(waiting)).toEqual([
      done('a1'),
      givenUp('crowded'),
      givenUp('crowded'),
      done('b1'),
      givenUp('crowded'),
      done('c1'),
    ]);
  });

  it('terminates a job that times out in a loop, and continues with another thread', async () => {
    const pool = openPool({ timeoutMs: 300 });
    const jobs = [pool.run({ hang: true }, 'a'), pool.run({ say: 'next' }, 'a')];
    expect(await Promise.all(jobs)).toEqual([givenUp('late'), done('next')]);
  });

  it('replaces a thread that crashes or exceeds its memory', async () => {
    const pool = openPool();
    expect(await pool.run({ die: true }, 'a')).toEqual(givenUp('broken'));
    expect(await pool.run({ eat: true }, 'a')).toEqual(givenUp('broken'));
    expect(await pool.run({ say: 'still there' }, 'a')).toEqual(done('still there'));
  });

  it('limits the wait and the number of waiting jobs', async () => {
    const pool = openPool({ waitMs: 2_000, maxWaiting: 2 });
    expect(await pool.run({ say: 'ready' }, 'a')).toEqual(done('ready'));
    const hanging = pool.run({ hang: true }, 'a');
    const jobs = ['a', 'b', 'c'].map((say) => pool.run({ say }, 'a'));
    expect(await jobs[2]).toEqual(givenUp('crowded'));
    expect(await Promise.all(jobs)).toEqual(jobs.map(() => givenUp('crowded')));
    await pool.close();
    expect(await hanging).toEqual(givenUp('broken'));
  });

  it('terminates running jobs when closed, and accepts no more', async () => {
    const pool = openPool();
    const jobs = [pool.run({ hang: true }, 'a'), pool.run({ say: 'waits' }, 'a')];
    await pool.close();
    jobs.push(pool.run({ say: 'late' }, 'a'));
    expect(await Promise.all(jobs)).toEqual(jobs.map(() => givenUp('broken')));
  });

  it('does not keep the process alive', async () => {
    const pool = openPool();
    expect(await pool.run({ say: 'done' }, 'a')).toEqual(done('done'));
    expect(process.getActiveResourcesInfo().filter((name) => name === 'MessagePort')).toEqual([]);
  });

  it('reports a thread that cannot be started', async () => {
    const pool = openPool({ file: new URL('./no-such-thread.ts', import.meta.url) });
    const jobs = [pool.run({ say: 'a' }, 'a'), pool.run({ say: 'b' }, 'a')];
    expect(await Promise.all(jobs)).toEqual(jobs.map(() => givenUp('broken')));
  });
});

describe('besideModule', () => {
  it('returns a source file next to a source file, and a built one next to a built one', () => {
    expect(
      ['file:///a/src/x.ts', 'file:///a/dist/x.js'].map((url) => besideModule(url, 'thread').pathname),
    ).toEqual(['/a/src/thread.ts', '/a/dist/thread.js']);
  });
});
