import type { AppServerSettings } from '../app-server.ts';
import type { BackendTarget } from '../home/backend.ts';
import type { Catalogue } from '../home/catalogue.ts';
import { dropLogRows } from '../home/log-database.ts';
import type { WorkerHomes } from '../home/prepare-home.ts';
import { startWorker, type StartWorker, type Worker } from './worker.ts';

export interface WorkerSpawnerOptions extends AppServerSettings {
  readonly homes: WorkerHomes;
  readonly backend: BackendTarget;
  /** The models for the next worker; default: the bundled ones. */
  readonly catalogue?: () => Promise<Catalogue>;
  readonly onStderr: (line: string) => void;
  /** For tests: starts the process. */
  readonly start?: StartWorker | undefined;
}

/** Starts a new worker for the pool: a new home, and a process that removes it at its end. */
export const createWorkerSpawner =
  ({
    homes,
    backend,
    catalogue,
    onWarning,
    start = startWorker,
    ...options
  }: WorkerSpawnerOptions): (() => Promise<Worker>) =>
  async () => {
    const home = await homes.create(backend, await catalogue?.());
    const worker = await start({
      ...options,
      // Each home has another name, and a warning is logged once.
      ...(onWarning === undefined
        ? {}
        : { onWarning: (text) => onWarning(text.replaceAll(home.path, 'CODEX_HOME')) }),
      binaryPath: homes.binary.path,
      environment: home.environment,
      cwd: home.path,
      hasHome: () => home.isIntact(),
      cleanUp: () => home.remove(),
    }).catch(async (error: unknown) => {
      // codex does not report that the disk filled up during its start.
      await homes.requireSpace(error);
      throw error;
    });
    const keptLogs = await dropLogRows(home.path);
    if (keptLogs !== null) options.onStderr(`codex keeps its log database, which costs CPU: ${keptLogs}`);
    return worker;
  };
