import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect } from 'vitest';

import { eventually, expectSound } from '../faults/settle.ts';
import { preparedIn, startedPids } from '../faults/workers.ts';
import { isAlive } from '../support/is-alive.ts';
import type { TestProxy } from '../support/proxy.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MB = 1024 * 1024;

/** With headroom over what was measured. */
const BOUNDS = {
  /** Of one kind. Timers and sockets of the last request may remain. */
  handleGrowth: 6,
  heapGrowthMB: 30,
} as const;

/** What this process and its children hold when idle. */
export interface Holdings {
  readonly heapMB: number;
  readonly handles: Readonly<Record<string, number>>;
  /** Connections between the relay and the model. */
  readonly kept: number;
  readonly processes: number;
}

/** Waits until idle, sends a plain request, and returns what is held. */
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
  // The size of a worker's home is measured from time to time, and the next turns are started: not while we count.
  for (const passing of ['FSReqPromise', 'Timeout']) {
    await eventually(
      () => process.getActiveResourcesInfo().filter((kind) => kind === passing).length,
      (count) => count <= BOUNDS.handleGrowth / 2,
    );
  }
  // The test keeps the log lines, which would be all that grows.
  (proxy.log as unknown[]).length = 0;
  // That request may have been the last one of a worn worker.
  await eventually(
    () => processes().length,
    (count) => count === workers,
  );
  // Each pre-started turn waits on a connection to the relay.
  const held = (await preparedIn(proxy)).turns;
  // Nothing is awaited from here on: all counts are of the same moment.
  collectGarbage();
  const kinds = Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  const counts = Object.entries(kinds).map(([kind, list]) => [kind, list?.length ?? 0] as const);
  // Connections to the model are kept for a while, as many as were needed at once; the model's ends are in
  // this process too.
  const kept = proxy.model.openConnections();
  return {
    heapMB: Math.round(process.memoryUsage().heapUsed / MB),
    handles: Object.fromEntries(
      counts.map(([kind, count]) => [kind, kind === 'TCPSocketWrap' ? count - kept - held : count]),
    ),
    kept,
    processes: processes().length,
  };
};

/** After the run everything is as before. */
export const expectNoGrowth = (before: Holdings, after: Holdings, atOnce: number): void => {
  const grown = Object.entries(after.handles).filter(
    ([kind, count]) => count - (before.handles[kind] ?? 0) > BOUNDS.handleGrowth,
  );
  expect([grown, after.processes]).toEqual([[], before.processes]);
  expect(after.kept).toBeLessThanOrEqual(atOnce);
  expect(after.heapMB - before.heapMB).toBeLessThanOrEqual(BOUNDS.heapGrowthMB);
};
