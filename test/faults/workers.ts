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

/** What the living app-servers say about themselves. */
const gauge = async (name: string): Promise<number> => {
  const living = started.filter((worker) => !worker.lost.aborted);
  const answers = await Promise.all(
    living.map((worker) => worker.appServer.request('server/diagnostics', {})),
  );
  return answers
    .flatMap((answer) => answer.gauges)
    .filter((one) => one.name === name)
    .reduce((sum, one) => sum + one.value, 0);
};

export const activeTurns = (): Promise<number> => gauge('core.turns.active');

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
