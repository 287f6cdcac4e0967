import { expect, it } from 'vitest';

import { DialPacing } from './dial-pacing.ts';

const paced = () => {
  const clock = { time: 1_000_000, now: () => clock.time };
  return { clock, pacing: new DialPacing(clock) };
};

it('pauses after a failure, twice as long after each, up to five minutes', () => {
  const { clock, pacing } = paced();
  const pauses = Array.from({ length: 11 }, () => {
    pacing.failed(403);
    const pause = pacing.spareDelayMs;
    clock.time += pause;
    return pause / 1000;
  });
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
});

it('starts again with the first socket that opens', () => {
  const { clock, pacing } = paced();
  pacing.failed(null);
  clock.time += 1_000;
  pacing.failed(null);
  expect(pacing.hasFailed).toBe(true);
  pacing.succeeded();
  expect([pacing.hasFailed, pacing.spareDelayMs]).toEqual([false, 0]);
});

it('makes shorter pauses again when a socket has served an answer', () => {
  const { clock, pacing } = paced();
  const pauseAfter = (): number => {
    pacing.failed(null);
    clock.time += pacing.spareDelayMs;
    pacing.succeeded();
    pacing.failed(null);
    return pacing.spareDelayMs;
  };
  expect(pauseAfter()).toBe(2_000);
  pacing.succeeded();
  pacing.served();
  pacing.failed(null);
  expect(pacing.spareDelayMs).toBe(1_000);
});

it('counts failures at the same time once', () => {
  const { pacing } = paced();
  for (let dial = 0; dial < 10; dial += 1) pacing.failed(403);
  expect(pacing.spareDelayMs).toBe(1_000);
});

it('pauses for half an hour if the backend does not speak WebSocket', () => {
  const { pacing } = paced();
  pacing.failed(403);
  pacing.failed(426);
  expect(pacing.spareDelayMs).toBe(30 * 60_000);
});

it('dials one spare socket per second', () => {
  const { clock, pacing } = paced();
  expect(pacing.spareDelayMs).toBe(0);
  pacing.spareStarted();
  clock.time += 400;
  expect(pacing.spareDelayMs).toBe(600);
});

it('waits longer before each next spare that is closed unused, until a socket has served an answer', () => {
  const { clock, pacing } = paced();
  const delays = Array.from({ length: 10 }, () => {
    pacing.spareStarted();
    pacing.succeeded();
    pacing.spareLost();
    const delay = pacing.spareDelayMs;
    clock.time += delay;
    return delay / 1000;
  });
  expect(delays).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  expect(pacing.hasFailed).toBe(false);
  pacing.spareStarted();
  pacing.served();
  expect(pacing.spareDelayMs).toBe(1_000);
});

it.each([
  [401, false],
  [403, true],
  [426, true],
  [null, true],
])('with another login, a failure with %s still counts: %s', (status, stillCounts) => {
  const { pacing } = paced();
  pacing.failed(status);
  pacing.loginChanged();
  expect([pacing.hasFailed, pacing.spareDelayMs > 0]).toEqual([stillCounts, stillCounts]);
});
