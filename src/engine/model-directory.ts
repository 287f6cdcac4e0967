import { createModelNames, type ModelInfo, type ModelNames } from '../canonical/model-names.ts';
import { GatewayError } from '../canonical/failure.ts';
import type { WorkerPool } from '../codex/worker/supervisor.ts';
import type { Clock } from '../kit/ambient.ts';
import { rpcFailure } from './rpc-failure.ts';

/** The models of the app-server, asked for at most once in this time. */
const MAX_AGE_MS = 5 * 60_000;

export interface ModelDirectory {
  names(): Promise<ModelNames>;
}

export const createModelDirectory = (workers: WorkerPool, clock: Clock): ModelDirectory => {
  let known: { readonly names: ModelNames; readonly at: number } | null = null;
  let asking: Promise<ModelNames> | null = null;
  const ask = async (): Promise<ModelNames> => {
    try {
      const names = createModelNames(await listModels(workers));
      known = { names, at: clock.now() };
      return names;
    } finally {
      asking = null;
    }
  };
  return {
    async names() {
      if (known !== null && clock.now() - known.at < MAX_AGE_MS) return known.names;
      // All who ask now share one answer, so none of them may call it off for the others.
      asking ??= ask();
      if (known === null) return asking;
      // Old names will do until there are new ones; if there are none, the next one asks again.
      asking.catch(() => {});
      return known.names;
    },
  };
};

/** A worker that dies while it is asked is not the asker's business. */
const ATTEMPTS = 3;

const listModels = async (workers: WorkerPool): Promise<ModelInfo[]> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listOnce(workers);
    } catch (error) {
      const failed = rpcFailure(error);
      if (failed.kind !== 'worker_lost' || attempt === ATTEMPTS)
        throw new GatewayError(failed, { cause: error });
    }
  }
};

const listOnce = async (workers: WorkerPool): Promise<ModelInfo[]> => {
  const lease = await workers.lease(new AbortController().signal);
  try {
    const models: ModelInfo[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof askPage>> = await askPage(lease.appServer, cursor);
      models.push(
        ...page.data.map((model) => ({
          id: model.id,
          efforts: model.supportedReasoningEfforts.map((option) => option.reasoningEffort),
          isDefault: model.isDefault,
        })),
      );
      cursor = page.nextCursor;
    } while (cursor !== null);
    return models;
  } finally {
    lease.release();
  }
};

const askPage = (appServer: Awaited<ReturnType<WorkerPool['lease']>>['appServer'], cursor: string | null) =>
  appServer.request('model/list', cursor === null ? {} : { cursor });
