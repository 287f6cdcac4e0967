import { EventEmitter } from 'node:events';

import { expect, it } from 'vitest';

import { watchSignals } from './signals.ts';

const settled = (promise: Promise<string>): Promise<string> => Promise.race([promise, Promise.resolve('-')]);

it('distinguishes the first signal, its echo, and the second', async () => {
  const source = new EventEmitter();
  let now = 1_000;
  const { first, second } = watchSignals(source as unknown as NodeJS.Process, () => now);
  source.emit('SIGINT', 'SIGINT');
  now += 50;
  source.emit('SIGINT', 'SIGINT');
  expect([await settled(first), await settled(second)]).toEqual(['SIGINT', '-']);
  now += 1_000;
  source.emit('SIGTERM', 'SIGTERM');
  expect([await first, await second]).toEqual(['SIGINT', 'SIGTERM']);
});
