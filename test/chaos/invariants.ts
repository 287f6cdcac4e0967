import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect } from 'vitest';

import { eventually, expectSound } from '../faults/settle.ts';
import { startedPids } from '../faults/workers.ts';
import { isAlive } from '../support/is-alive.ts';
import type { TestProxy } from '../support/proxy.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MB = 1024 * 1024;

/** Head-room over what was measured. */
const BOUNDS = {
  /** Of one kind. Timers and sockets of the last request may still be there. */
  handleGrowth: 6,
  heapGrowthMB: 30,
} as const;

/** What this process and its children hold when nothing runs. */
export interface Holdings {
  readonly heapMB: number;
  readonly handles: Readonly<Record<string, number>>;
  /** Connections between the relay and the model. */
  readonly kept: number;
  readonly processes: number;
}

/** Waits until nothing runs, asks a plain question, and tells what is held. */
export const settle = async (proxy: TestProxy, workers: number): Promise<Holdings> => {
  const serving = (): readonly (readonly [number, string])[] =>
    proxy.app.workers().map(({ pid, state }) => [pid, state]);
  const processes = (): readonly number[] => startedPids().filter(isAlive);
  await eventually(
    () => serving().filter(([, state]) => state === 'ready').length,
    (ready) => ready === workers && serving().length === workers && processes().length === workers,
  );
  expect([serving().map(([, state]) => state), processes().length]).toEqual([
    Array.from({ length: workers }, () => 'ready'),
    workers,
  ]);
  await expectSound(proxy);
  // Now and then it is looked how large the home of a worker is, file by file: not while we count.
  await eventually(
    () => process.getActiveResourcesInfo().filter((kind) => kind === 'FSReqPromise').length,
    (files) => files <= BOUNDS.handleGrowth,
  );
  // The lines of the log are kept by the test, and would be all that grows.
  (proxy.log as unknown[]).length = 0;
  collectGarbage();
  const kinds = Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  const counts = Object.entries(kinds).map(([kind, list]) => [kind, list?.length ?? 0] as const);
  // Connections to the model are kept for a while, as many as were needed at once; its own ends are among ours.
  const kept = proxy.model.openConnections();
  return {
    heapMB: Math.round(process.memoryUsage().heapUsed / MB),
    handles: Object.fromEntries(
      counts.map(([kind, count]) => [kind, kind === 'TCPSocketWrap' ? count - kept : count]),
    ),
    kept,
    processes: processes().length,
  };
};

/** After the storm everything is as it was. */
export const expectNoGrowth = (before: Holdings, after: Holdings, atOnce: number): void => {
  const grown = Object.entries(after.handles).filter(
    ([kind, count]) => count - (before.handles[kind] ?? 0) > BOUNDS.handleGrowth,
  );
  expect([grown, after.processes]).toEqual([[], before.processes]);
  expect(after.kept).toBeLessThanOrEqual(atOnce);
  expect(after.heapMB - before.heapMB).toBeLessThanOrEqual(BOUNDS.heapGrowthMB);
};
