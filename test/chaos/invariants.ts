import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect } from 'vitest';

import { eventually, expectSound } from '../faults/settle.ts';
import { livingPids, preparedIn } from '../faults/workers.ts';
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

/** Waits until idle, sends a plain request, and returns what is held; with `before`, what is still held more after a while. */
export const settle = async (
  proxy: TestProxy,
  workers: number,
  before: Holdings | null = null,
): Promise<Holdings> => {
  const serving = (): readonly (readonly [number, string])[] =>
    proxy.app.workers().map(({ pid, state }) => [pid, state]);
  await eventually(
    () => serving().filter(([, state]) => state === 'ready').length,
    (ready) => ready === workers && serving().length === workers && livingPids().length === workers,
  );
  expect([serving().map(([, state]) => state), livingPids().length]).toEqual([
    Array.from({ length: workers }, () => 'ready'),
    workers,
  ]);
  await expectSound(proxy);
  // The test keeps the log lines, which would be all that grows.
  (proxy.log as unknown[]).length = 0;
  // That request may have been the last one of a worn worker.
  await eventually(
    () => livingPids().length,
    (count) => count === workers,
  );
  // The size of a worker's home is measured from time to time, and the next turns are started. That passes; a leak stays.
  return eventually(
    () => holdings(proxy),
    (now) =>
      // A worker may be replaced at any time: for a moment there is one more.
      now.processes === workers &&
      (before === null
        ? !grown(NOTHING, now).some(([kind]) => PASSING.has(kind))
        : grown(before, now).length === 0),
  );
};

/** Kinds that an idle server has none of. */
const PASSING = new Set(['FSReqPromise', 'CloseReq', 'Timeout']);
const NOTHING: Holdings = { heapMB: 0, handles: {}, kept: 0, processes: 0 };

const grown = (before: Holdings, after: Holdings): readonly (readonly [string, number])[] =>
  Object.entries(after.handles).filter(
    ([kind, count]) => count - (before.handles[kind] ?? 0) > BOUNDS.handleGrowth,
  );

const holdings = async (proxy: TestProxy): Promise<Holdings> => {
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
    processes: livingPids().length,
  };
};

/** After the run everything is as before. */
export const expectNoGrowth = (before: Holdings, after: Holdings, atOnce: number): void => {
  expect([grown(before, after), after.processes]).toEqual([[], before.processes]);
  expect(after.kept).toBeLessThanOrEqual(atOnce);
  expect(after.heapMB - before.heapMB).toBeLessThanOrEqual(BOUNDS.heapGrowthMB);
};
