import { setTimeout as sleep } from 'node:timers/promises';

import { expect } from 'vitest';

import type { TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { activeTurns, leftThreads, preparedIn, livingPids, startedCount } from './workers.ts';

/** Far more than anything needs, even on a busy machine. Ends a hang; not a measurement. */
const DEADLINE_MS = 40_000;

/** Polls until the value is the wanted one; the test compares the last value. */
export const eventually = async <T>(
  ask: () => T | Promise<T>,
  isWanted: (value: T) => boolean,
): Promise<T> => {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await ask();
    if (isWanted(value) || Date.now() > deadline) return value;
    await sleep(20);
  }
};

interface Running {
  /** Turns that have a worker. */
  readonly leases: number;
  /** Turns that the app-server runs. */
  readonly turns: number;
  /** Threads that it holds although their turn has ended. */
  readonly threads: number;
  /** Requests that the model is answering. */
  readonly modelRequests: number;
}

const runningIn = async (proxy: TestProxy): Promise<Running> => {
  const prepared = await preparedIn(proxy);
  return {
    leases: proxy.app.workers().reduce((sum, worker) => sum + worker.leases, 0),
    turns: (await activeTurns()) - prepared.turns,
    threads: (await leftThreads()) - prepared.threads,
    modelRequests: proxy.model.activeRequests(),
  };
};

const NOTHING: Running = { leases: 0, turns: 0, threads: 0, modelRequests: 0 };

/** Checks that nothing is left of earlier requests, and that the server answers. */
export const expectSound = async (proxy: TestProxy): Promise<void> => {
  const left = await eventually(
    () => runningIn(proxy),
    (running) => JSON.stringify(running) === JSON.stringify(NOTHING),
  );
  expect(left).toEqual(NOTHING);
  proxy.use(hello);
  const response = await proxy.openai.responses.create({ model: 'gpt-5.5', input: 'still there?' });
  expect([response.status, response.output_text]).toEqual(['completed', 'Hello from the scripted model.']);
};

/** Stops the proxy and checks that no process is left. */
export const closeForGood = async (proxy: TestProxy): Promise<void> => {
  await proxy.close();
  expect([startedCount() > 0, livingPids()]).toEqual([true, []]);
};
