import type { AppServerOptions } from '../app-server.ts';
import type { BackendTarget } from '../home/backend.ts';
import type { Catalogue } from '../home/catalogue.ts';
import type { CodexHomes } from '../home/prepare-home.ts';
import { startWorker, type Worker } from './worker.ts';

export interface WorkerSpawnerOptions extends Omit<AppServerOptions, 'onClose' | 'onUnanswered'> {
  readonly homes: CodexHomes;
  readonly backend: BackendTarget;
  /** The models that the next worker is to know; the bundled ones if it is left out. */
  readonly catalogue?: () => Promise<Catalogue>;
  readonly onStderr: (line: string) => void;
}

/** What the pool calls for a new worker: a fresh home, and a process in it that takes the home along. */
export const createWorkerSpawner =
  ({ homes, backend, catalogue, ...options }: WorkerSpawnerOptions): (() => Promise<Worker>) =>
  async () => {
    const home = await homes.create(backend, await catalogue?.());
    return startWorker({
      ...options,
      binaryPath: homes.binary.path,
      environment: home.environment,
      cwd: home.path,
      hasHome: () => home.isIntact(),
      cleanUp: () => home.remove(),
    }).catch(async (error: unknown) => {
      // codex does not say that the disk filled up while it started.
      await homes.requireSpace(error);
      throw error;
    });
  };
