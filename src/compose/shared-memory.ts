import { rm } from 'node:fs/promises';
import path from 'node:path';

import { uuidV7 } from '../codex/relay/request/uuid-v7.ts';
import type { Config } from '../config/schema.ts';
import { REMEMBERED_FOR_MS, type SharedReasoning } from '../engine/memory/reasoning-memory.ts';
import { within } from '../kit/async/wait.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import { CacheIds } from '../state/cache-ids.ts';
import { MemoryAccess } from '../state/memory-access.ts';
import { StoredReasoning } from '../state/stored-reasoning.ts';
import type { Store } from '../store/store.ts';

/** What all instances of one store remember, besides responses. */
export interface SharedMemory {
  readonly cacheIds: CacheIds;
  /** Null: reasoning is remembered in memory only, or not at all. */
  readonly reasoning: SharedReasoning | null;
  /** Waits a moment for pending writes. The store must still be open. */
  close(): Promise<void>;
}

const DAY_MS = 24 * 60 * 60_000;
/** A slow store must not keep a server from stopping. */
const CLOSE_WAIT_MS = 2_000;

export const openSharedMemory = async (
  store: Store | null,
  { state, upstream }: Config,
  logger: Logger,
): Promise<SharedMemory> => {
  await removeEarlierFile(state.dir);
  const { clock } = systemAmbient;
  const mint = (): string => uuidV7(clock.now());
  if (store === null)
    return {
      cacheIds: new CacheIds({ store: null, clock, mint }),
      reasoning: null,
      close: async () => {},
    };
  const { memory } = store;
  const access = new MemoryAccess({
    clock,
    onTrouble: (err) =>
      logger.warn(
        { err },
        'the store fails: conversations may get another cache id, reasoning may be missing',
      ),
  });
  const ttlMs = state.ttlDays * DAY_MS;
  const cacheIds = new CacheIds({ store: { memory, access, ttlMs }, clock, mint });
  const reasoning =
    upstream.reasoningMemoryMb === 0
      ? null
      : new StoredReasoning({
          memory,
          access,
          ttlMs: REMEMBERED_FOR_MS,
          clock,
          onOverflow: () => logger.warn('the store is too slow: remembered reasoning is not shared'),
        });
  return {
    cacheIds,
    reasoning,
    async close() {
      await within(Promise.all([cacheIds.settled(), reasoning?.settled()]), CLOSE_WAIT_MS);
    },
  };
};

/** Version 0.2 kept the ids in a file. */
const removeEarlierFile = (dir: string): Promise<void> =>
  // Best effort: nothing reads it any more.
  rm(path.join(dir, 'conversations'), { force: true }).catch(() => {});
