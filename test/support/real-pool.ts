import type { BackendTarget } from '../../src/codex/home/backend.ts';
import type { CodexHomes } from '../../src/codex/home/prepare-home.ts';
import { createWorkerSpawner, type WorkerSpawnerOptions } from '../../src/codex/worker/spawn-worker.ts';
import {
  createWorkerPool,
  type WorkerPool,
  type WorkerPoolOptions,
} from '../../src/codex/worker/supervisor.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';

interface Different {
  readonly worker?: Partial<WorkerSpawnerOptions>;
  readonly pool?: Partial<WorkerPoolOptions>;
}

/** A started pool of one real app-server with this backend, and a test's changes. */
export const startRealPool = async (
  homes: CodexHomes,
  backend: BackendTarget,
  different: Different = {},
): Promise<WorkerPool> => {
  const pool = createWorkerPool({
    spawnWorker: createWorkerSpawner({
      homes,
      backend,
      clientInfo: { name: 'test', title: null, version: '0' },
      onStderr() {},
      onListenerError(error) {
        throw error;
      },
      ...different.worker,
    }),
    size: 1,
    hangTimeoutMs: 10_000,
    maxThreads: 500,
    maxRssMb: 4096,
    maxHomeMb: 4096,
    waitMs: 20_000,
    clock: systemAmbient.clock,
    onEvent() {},
    ...different.pool,
  });
  await pool.start();
  return pool;
};
