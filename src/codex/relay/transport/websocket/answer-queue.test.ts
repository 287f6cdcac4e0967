import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { AnswerQueue } from './answer-queue.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const queued = () => {
  const noted: string[] = [];
  const queue = new AnswerQueue({
    pause: () => noted.push('pause'),
    resume: () => noted.push('resume'),
    onOverflow: (error) => noted.push(error.message),
    onLeft: () => noted.push('left'),
  });
  return { queue, noted };
};
const MB = 1024 * 1024;

it('hands over what has arrived, together, and then the end', async () => {
  const { queue, noted } = queued();
  queue.push(Buffer.from('a'));
  queue.push(Buffer.from('b'));
  expect(await queue.next()).toEqual({ done: false, value: Buffer.from('ab') });
  const waiting = queue.next();
  queue.push(Buffer.from('c'));
  queue.end();
  expect(await waiting).toEqual({ done: false, value: Buffer.from('c') });
  expect(await queue.next()).toEqual({ done: true, value: undefined });
  expect(noted).toEqual([]);
});

it('hands over what has arrived before an error', async () => {
  const { queue } = queued();
  queue.push(Buffer.from('a'));
  queue.fail(new Error('lost'));
  expect((await queue.next()).value).toEqual(Buffer.from('a'));
  await expect(queue.next()).rejects.toThrow('lost');
});

it('pauses the socket for a slow reader, and goes on when it has read', async () => {
  const { queue, noted } = queued();
  for (let chunk = 0; chunk < 9; chunk += 1) queue.push(Buffer.alloc(MB));
  expect(noted).toEqual(['pause']);
  for (let chunk = 0; chunk < 5; chunk += 1) await queue.next();
  expect(noted).toEqual(['pause', 'resume']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(noted).toEqual(['pause', 'resume']);
});

it('gives up on a reader that does not go on', async () => {
  const { queue, noted } = queued();
  for (let chunk = 0; chunk < 9; chunk += 1) queue.push(Buffer.alloc(MB));
  await vi.advanceTimersByTimeAsync(15_000);
  expect(noted).toEqual(['pause', 'the answer was not read in time']);
});

it('passes a single large message', async () => {
  const { queue, noted } = queued();
  const waiting = queue.next();
  queue.push(Buffer.alloc(20 * MB));
  expect((await waiting).value?.length).toBe(20 * MB);
  expect(noted).toEqual([]);
});

it('reports a reader that leaves, but not after the end', async () => {
  const left = queued();
  await left.queue.return();
  expect(left.noted).toEqual(['left']);
  const ended = queued();
  ended.queue.end();
  ended.queue.destroy();
  expect(ended.noted).toEqual([]);
});
