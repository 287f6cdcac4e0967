import { vi } from 'vitest';

import type { Worker } from '../../src/codex/worker/worker.ts';
import type { startProxy as StartProxy } from '../support/proxy.ts';

/** Every app-server that this test file has started, so that a test can ask it what still runs in it. */
const started = vi.hoisted((): Worker[] => []);

vi.mock(import('../../src/codex/worker/worker.ts'), async (original) => {
  const real = await original();
  return {
    ...real,
    startWorker: async (options) => {
      const worker = await real.startWorker(options);
      started.push(worker);
      return worker;
    },
  };
});

export const startedPids = (): readonly number[] => started.map((worker) => worker.pid);

const gaugeOf = async (worker: Worker, name: string): Promise<number> => {
  if (worker.lost.aborted) return 0;
  try {
    const { gauges } = await worker.appServer.request('server/diagnostics', {});
    return gauges.find((one) => one.name === name)?.value ?? 0;
  } catch (error) {
    // It went away while it was asked: nothing runs in it any more.
    if (worker.lost.aborted) return 0;
    throw error;
  }
};

/** What the living app-servers say about themselves. */
export const activeTurns = async (): Promise<number> => {
  const counts = await Promise.all(started.map((worker) => gaugeOf(worker, 'core.turns.active')));
  return counts.reduce((sum, count) => sum + count, 0);
};

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

/** The proxy of a fault test. It is loaded here, behind the watch on its app-servers. */
export const startWatchedProxy: typeof StartProxy = async (script, env) => {
  const { startProxy } = await import('../support/proxy.ts');
  return startProxy(script, env);
};
