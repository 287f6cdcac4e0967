import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { EventBatch } from '../store/port.ts';
import { EventLog } from './event-log.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const logOf = ({
  first = 0,
  append = async () => {},
}: { first?: number; append?: () => Promise<void> } = {}) => {
  const written: EventBatch[] = [];
  const errors: unknown[] = [];
  let changes = 0;
  const log = new EventLog({
    owner: 'alice',
    responseId: 'resp_1',
    first,
    batchMs: 20,
    expiresAt: 1_000,
    store: {
      async append(_owner, _id, batch) {
        await append();
        written.push(batch);
      },
    },
    onError: (error) => errors.push(error),
    onChange: () => void (changes += 1),
  });
  return { log, written, errors, changes: () => changes };
};

const bodies = (written: readonly EventBatch[]): readonly string[] =>
  written.map(({ first, last, body }) => `${first}-${last}: ${body}`);

describe('EventLog', () => {
  it('writes events in batches, and shows them when they are written', async () => {
    const { log, written, changes } = logOf({ first: 3 });
    log.add('a');
    log.add('b');
    expect([log.from(3), log.next, changes()]).toEqual([[], 5, 0]);
    await vi.advanceTimersByTimeAsync(0);
    expect([log.from(3), log.from(4), log.from(5), log.from(2), changes()]).toEqual([
      ['a', 'b'],
      ['b'],
      [],
      null,
      1,
    ]);
    await vi.advanceTimersByTimeAsync(5);
    log.add('c');
    log.add('d');
    await vi.advanceTimersByTimeAsync(14);
    expect(log.from(5)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(log.from(5)).toEqual(['c', 'd']);
    await vi.advanceTimersByTimeAsync(100);
    log.add('e');
    await vi.advanceTimersByTimeAsync(0);
    expect(bodies(written)).toEqual(['3-4: ab', '5-6: cd', '7-7: e']);
  });

  it('writes a large batch at once, and one batch at a time', async () => {
    const writes: (() => void)[] = [];
    const { log, written } = logOf({ append: () => new Promise((resolve) => void writes.push(resolve)) });
    log.add('x'.repeat(32 * 1024));
    log.add('a');
    log.add('b');
    await vi.advanceTimersByTimeAsync(100);
    expect([writes.length, written.length]).toEqual([1, 0]);
    writes.shift()?.();
    await vi.advanceTimersByTimeAsync(99);
    // A slow store gets a pause that is as long as the last write.
    expect(writes.length).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    writes.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(written.map(({ first, last }) => [first, last])).toEqual([
      [0, 0],
      [1, 2],
    ]);
  });

  it('keeps only recent events in memory', async () => {
    const { log } = logOf();
    for (let count = 0; count < 10; count += 1) log.add('x'.repeat(10_000));
    await log.flush();
    expect([log.from(3), log.from(4)?.length]).toEqual([null, 6]);
  });

  it('lets the run wait while too much is not written', async () => {
    let isBack = false;
    const { log, errors, written } = logOf({
      append: () => (isBack ? Promise.resolve() : Promise.reject(gatewayError('store_unavailable'))),
    });
    log.add('x'.repeat(300_000));
    let hasRoom = false;
    void log.room().then(() => (hasRoom = true));
    await vi.advanceTimersByTimeAsync(10_000);
    expect([hasRoom, errors.length]).toEqual([false, 1]);
    isBack = true;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([hasRoom, written.length]).toEqual([true, 1]);
  });

  it('writes everything before it ends, and nothing after it was abandoned', async () => {
    const { log, written } = logOf();
    log.add('a');
    const flushed = log.flush();
    log.add('b');
    log.end();
    await flushed;
    expect([bodies(written), log.isEnded]).toEqual([['0-0: a', '1-1: b'], true]);
    expect(() => log.add('c')).toThrow('ended');
    const other = logOf({ append: () => Promise.reject(gatewayError('store_unavailable')) });
    other.log.add('a');
    const waiting = other.log.flush();
    other.log.abandon();
    await waiting;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([other.written, other.log.isEnded]).toEqual([[], true]);
  });

  it('gives up if the events are stored already with another content', async () => {
    const { log, errors } = logOf({ append: () => Promise.reject(new Error('event 0 is stored already')) });
    log.add('a');
    await log.flush();
    expect([log.isEnded, errors]).toEqual([true, [new Error('event 0 is stored already')]]);
  });
});
