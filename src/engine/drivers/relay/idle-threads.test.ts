import { describe, expect, it } from 'vitest';

import { fakeWorker } from '../../../../test/support/carriers.ts';
import { settled } from '../../../../test/support/fake-pool.ts';
import { freshThread, type CarrierThread } from './carrier-thread.ts';
import { IdleThreads } from './idle-threads.ts';

const thread = (nth: number, different: Partial<CarrierThread> = {}): CarrierThread => ({
  ...freshThread(`thread-${nth}`, 'gpt-5.5'),
  caller: 'one',
  turns: 1,
  ...different,
});

const started = () => {
  const worker = fakeWorker();
  const sizes: number[] = [];
  const idle: IdleThreads = new IdleThreads(worker.appServer, () => sizes.push(idle.size));
  return { worker, idle, sizes };
};

describe('threads without a turn', () => {
  it('are given once, the one that was used last first', () => {
    const { worker, idle, sizes } = started();
    const all = [thread(1), thread(2)];
    for (const one of all) idle.add(one, 0);
    expect([idle.size, worker.watched()]).toEqual([2, ['thread-1', 'thread-2']]);
    expect(idle.take('gpt-5.5', 'one')).toBe(all[1]);
    expect(worker.watched()).toEqual(['thread-1']);
    expect(idle.take('gpt-5.5', 'one')).toBe(all[0]);
    expect([idle.take('gpt-5.5', 'one'), idle.size, worker.watched()]).toEqual([null, 0, []]);
    expect(sizes).toEqual([1, 2, 1, 0]);
    // They continue to be used: nothing was closed.
    expect(worker.calls).toEqual([]);
  });

  it('are for the same caller and model only', () => {
    const { idle } = started();
    idle.add(thread(1), 0);
    expect([idle.take('gpt-5.5', 'other'), idle.take('gpt-6', 'one'), idle.size]).toEqual([null, null, 1]);
  });

  it('are for no caller if they have carried none', () => {
    const { idle } = started();
    idle.add(thread(1, { caller: null }), 0);
    expect([idle.take('gpt-5.5', ''), idle.take('gpt-5.5', 'null')]).toEqual([null, null]);
  });

  it('are forgotten when their worker exits, and not for another signal', () => {
    const { worker, idle, sizes } = started();
    idle.add(thread(1), 0);
    idle.add(thread(2), 0);
    worker.complete('thread-1');
    worker.send('thread-1', { kind: 'tool-call', params: {}, respond() {} });
    expect(idle.size).toBe(2);
    worker.exit();
    expect([idle.take('gpt-5.5', 'one'), sizes, worker.calls]).toEqual([null, [1, 2, 1, 0], []]);
  });

  it('are closed if they have waited too long', () => {
    const { worker, idle, sizes } = started();
    idle.add(thread(1), 10);
    idle.add(thread(2), 20);
    idle.closeOlderThan(20);
    // No turn runs, so there is nothing to interrupt.
    expect(worker.calls).toEqual([['thread/unsubscribe', { threadId: 'thread-1' }]]);
    expect([sizes, worker.watched()]).toEqual([[1, 2, 1], ['thread-2']]);
    idle.closeWhere(() => true);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1', 'thread-2']);
    expect([idle.take('gpt-5.5', 'one'), worker.watched()]).toEqual([null, []]);
  });

  it('are at most 32: the oldest is closed', () => {
    const { worker, idle } = started();
    for (let nth = 1; nth <= 34; nth += 1) idle.add(thread(nth), 0);
    expect([idle.size, worker.threadsOf('thread/unsubscribe')]).toEqual([32, ['thread-1', 'thread-2']]);
    expect(worker.watched()).toHaveLength(32);
  });

  it('may fail to be closed', async () => {
    const { worker, idle } = started();
    worker.beforeAnswer = () => Promise.reject(new Error('gone'));
    idle.add(thread(1), 0);
    idle.closeOlderThan(Infinity);
    // A rejection that no one handles would fail this file.
    await settled();
    expect([idle.size, worker.threadsOf('thread/unsubscribe')]).toEqual([0, ['thread-1']]);
  });
});
