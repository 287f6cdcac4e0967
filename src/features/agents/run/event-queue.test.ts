import { describe, expect, it } from 'vitest';

import { EventQueue } from './event-queue.ts';
import type { AgentEvent } from './port.ts';

const statusOf = (status: string): AgentEvent => ({ type: 'item-status', itemId: 'a', status });

const queueOf = () => {
  let left = 0;
  const queue = new EventQueue(async () => {
    left += 1;
  });
  return { queue, left: () => left };
};

describe('EventQueue', () => {
  it('yields events in order, to a reader that waits or comes later', async () => {
    const { queue, left } = queueOf();
    const events = queue[Symbol.asyncIterator]();
    const first = events.next();
    queue.push(statusOf('1'));
    queue.push(statusOf('2'));
    queue.close();
    queue.push(statusOf('3'));
    expect([await first, await events.next(), await events.next(), await events.next(), left()]).toEqual([
      { done: false, value: statusOf('1') },
      { done: false, value: statusOf('2') },
      { done: true, value: undefined },
      { done: true, value: undefined },
      0,
    ]);
  });

  it.each([true, false])('throws the error after what is unread (reader waits: %s)', async (waits) => {
    const { queue } = queueOf();
    const events = queue[Symbol.asyncIterator]();
    if (!waits) queue.push(statusOf('1'));
    const next = events.next();
    if (!waits) expect(await next).toEqual({ done: false, value: statusOf('1') });
    queue.fail(new Error('lost'));
    await expect(waits ? next : events.next()).rejects.toThrow('lost');
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('has room until many events or much text of tools are unread', async () => {
    const { queue } = queueOf();
    for (let nth = 0; nth < 1024; nth += 1) queue.push(statusOf(String(nth)));
    expect(queue.hasRoom).toBe(false);
    const room = queue.room();
    expect(await Promise.race([room, Promise.resolve('no room')])).toBe('no room');
    const events = queue[Symbol.asyncIterator]();
    await events.next();
    await room;
    expect(queue.hasRoom).toBe(true);
    for (let nth = 1; nth < 1024; nth += 1) await events.next();
    queue.push({
      type: 'item-status',
      itemId: 'a',
      status: 'in_progress',
      more: { output_delta: 'x'.repeat(4 * 1024 * 1024) },
    });
    expect(queue.hasRoom).toBe(false);
    await events.next();
    expect(queue.hasRoom).toBe(true);
  });

  it('reports that its reader has left before the end, once', async () => {
    const { queue, left } = queueOf();
    queue.push(statusOf('1'));
    const events = queue[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
    await events.return?.();
    expect([left(), await events.next()]).toEqual([1, { done: true, value: undefined }]);
    const { queue: ended, left: leftEnded } = queueOf();
    ended.close();
    await ended[Symbol.asyncIterator]().return?.();
    expect(leftEnded()).toBe(0);
  });
});
