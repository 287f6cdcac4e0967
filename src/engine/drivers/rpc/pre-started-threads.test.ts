import { describe, expect, it } from 'vitest';

import type { WorkerLease } from '../../../codex/worker/supervisor.ts';
import { PreStartedThreads, threadKind, type ThreadKind } from './pre-started-threads.ts';

const kind = (model: string): ThreadKind => threadKind({ model, baseInstructions: '' });

/** A worker that starts threads t1, t2 … or refuses to. */
const worker = (options: { isCurrent?: boolean; isBroken?: boolean } = {}) => {
  let started = 0;
  const closed: string[] = [];
  const lease = {
    isCurrent: () => options.isCurrent ?? true,
    appServer: {
      async request(method: string, params: { readonly threadId: string }) {
        if (options.isBroken === true) throw new Error('gone');
        if (method === 'thread/unsubscribe') return void closed.push(params.threadId);
        started += 1;
        return { thread: { id: `t${started}` } };
      },
    },
  } as unknown as WorkerLease;
  return { lease, started: () => started, closed };
};

const at = (now: () => number): PreStartedThreads => new PreStartedThreads({ now });
const twice = async (preStarted: PreStartedThreads, lease: WorkerLease, of: ThreadKind): Promise<void> => {
  await preStarted.prepare(lease, of);
  await preStarted.prepare(lease, of);
};

describe('PreStartedThreads', () => {
  it('has a thread for a kind that was used twice, and gives it once', async () => {
    const preStarted = at(() => 0);
    const { lease, started, closed } = worker();
    await preStarted.prepare(lease, kind('a'));
    expect([preStarted.take(lease, kind('a')), started()]).toEqual([null, 0]);
    await preStarted.prepare(lease, kind('a'));
    expect([
      preStarted.take(lease, kind('b')),
      preStarted.take(lease, kind('a')),
      preStarted.take(lease, kind('a')),
    ]).toEqual([null, 't1', null]);
    expect([started(), closed]).toEqual([1, []]);
  });

  it('keeps one thread of a kind, even with concurrent requests', async () => {
    const preStarted = at(() => 0);
    const { lease, started } = worker();
    await preStarted.prepare(lease, kind('a'));
    await Promise.all(Array.from({ length: 5 }, () => preStarted.prepare(lease, kind('a'))));
    expect(started()).toBe(1);
  });

  it('belongs to its worker', async () => {
    const preStarted = at(() => 0);
    const [one, other] = [worker(), worker()];
    await twice(preStarted, one.lease, kind('a'));
    expect([preStarted.take(other.lease, kind('a')), preStarted.take(one.lease, kind('a'))]).toEqual([
      null,
      't1',
    ]);
  });

  it('closes an old thread instead of giving it', async () => {
    let now = 0;
    const preStarted = at(() => now);
    const { lease, closed } = worker();
    await twice(preStarted, lease, kind('a'));
    now = 5 * 60_000;
    expect([preStarted.take(lease, kind('a')), closed]).toEqual([null, ['t1']]);
  });

  it('starts no thread on a worker that is being replaced, or for a huge kind', async () => {
    const preStarted = at(() => 0);
    const retiring = worker({ isCurrent: false });
    const current = worker();
    await twice(preStarted, retiring.lease, kind('a'));
    await twice(preStarted, current.lease, kind('x'.repeat(70_000)));
    expect([retiring.started(), current.started()]).toEqual([0, 0]);
  });

  it('closes the oldest thread when there are too many kinds', async () => {
    const preStarted = at(() => 0);
    const { lease, closed } = worker();
    for (let index = 0; index < 9; index += 1) await twice(preStarted, lease, kind(`m${index}`));
    expect([preStarted.take(lease, kind('m0')), preStarted.take(lease, kind('m8')), closed]).toEqual([
      null,
      't9',
      ['t1'],
    ]);
  });

  it('keeps the limit when many kinds are being started at once', async () => {
    const preStarted = at(() => 0);
    const { lease, closed } = worker();
    const kinds = Array.from({ length: 20 }, (_, index) => kind(`m${index}`));
    await Promise.all(kinds.map((one) => twice(preStarted, lease, one)));
    expect([
      kinds.filter((one) => preStarted.take(lease, one) !== null).length,
      // Those that were given up on their way are closed when they come.
      closed.length,
    ]).toEqual([8, 12]);
  });

  it('keeps nothing after a failure', async () => {
    const preStarted = at(() => 0);
    const options = { isBroken: true };
    const { lease } = worker(options);
    await twice(preStarted, lease, kind('a'));
    expect(preStarted.take(lease, kind('a'))).toBeNull();
    options.isBroken = false;
    await preStarted.prepare(lease, kind('a'));
    expect(preStarted.take(lease, kind('a'))).toBe('t1');
  });
});
