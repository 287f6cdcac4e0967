import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';

import type { Signer } from '../anthropic/messages/reasoning/thinking-block.ts';
import { failureOf } from '../canonical/failure/failure.ts';
import { KeyIds, withShownIds } from '../store/key-ids.ts';
import type { Metrics } from '../observe/metrics.ts';
import { startSweeper } from '../store/sweeper.ts';
import { uuidV7 } from '../codex/relay/request/affinity.ts';
import type { Config } from '../config/schema.ts';
import { REMEMBERED_FOR_MS, type SharedReasoning } from '../engine/memory/reasoning-memory.ts';
import { loadOrCreateSecret } from '../http/guards/own-secrets.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { within } from '../kit/async/wait.ts';
import type { Logger } from '../observe/log.ts';
import { CacheIds } from '../store/memory/cache-ids.ts';
import { MemoryAccess } from '../store/memory/memory-access.ts';
import { StoredReasoning } from '../store/memory/stored-reasoning.ts';
import { openDatabase } from '../store/open-store.ts';
import { schemaWith } from '../store/operations.ts';
import type { StoreOptions, StoreHooks } from '../store/store-options.ts';
import type { Store } from '../store/store.ts';
import { sharedKey, keyBytes, TextSigner } from '../store/text-signer.ts';
import { besideModule } from '../threads/thread-pool.ts';
import { FEATURES } from './features.ts';

/** What a database can do: its own operations and those of the features. */
export const STORE_SCHEMA = schemaWith(FEATURES.flatMap(({ store = [] }) => store));

/** Opens a database with the tables of the features. Rejects with the reason if it cannot. */
export const openStore = (options: Omit<StoreOptions, 'schema' | 'thread'>): Promise<Store> =>
  openDatabase({
    ...options,
    schema: STORE_SCHEMA,
    thread: besideModule(import.meta.url, 'sqlite-thread'),
  });

/** The file of the SQLite database. */
export const storeFile = ({ dir }: Pick<Config['state'], 'dir'>): string => path.join(dir, 'state.db');

/** Where answers are stored, for people. Passwords in the address are not shown. */
export const describeStore = (state: Config['state']): string => {
  if (state.store === 'off') return 'off: nothing is kept between requests (PROXY_STORE=off)';
  const where = state.databaseUrl === null ? storeFile(state) : `PostgreSQL at ${hostOf(state.databaseUrl)}`;
  const days = `${state.ttlDays} ${state.ttlDays === 1 ? 'day' : 'days'}`;
  return `${where}, kept for ${days}${state.keys.length > 0 ? ', encrypted' : ''}`;
};

const hostOf = (url: string): string => {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
};

/** The store, and what is made of it for all of the server. */
export interface OpenStore {
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly signer: Signer;
  readonly keyIds: KeyIds;
  close(): Promise<void>;
}

interface StoreDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The database cannot be used; the message says what to do. */
export class UnusableStore extends Error {}

/** Opens the store of a server, and deletes what expires in it. Throws `UnusableStore` if it cannot. */
export const openServerStore = async (config: Config, deps: StoreDeps): Promise<OpenStore> => {
  const { logger, metrics } = deps;
  const opened = config.state.store === 'off' ? null : await openedStore(config, deps);
  const signatures = await openSignatures(opened, config, logger);
  const store = opened === null ? null : withShownIds(opened, signatures.keyIds);
  const sweeper =
    store === null
      ? null
      : startSweeper({
          store,
          clock: systemAmbient.clock,
          onSwept: (rows) => metrics.storeSwept.inc(rows),
          onError: (err) => logger.warn({ err }, 'expired rows could not be deleted'),
        });
  return {
    store,
    signer: signatures.signer,
    keyIds: signatures.keyIds,
    async close() {
      signatures.close();
      await sweeper?.stop();
      await store?.close();
    },
  };
};

const openedStore = async (config: Config, { logger, metrics }: StoreDeps): Promise<Store> => {
  try {
    return await openConfiguredStore(config, {
      onChange: ({ kind, ...facts }) =>
        logger.warn(facts, kind === 'lost' ? 'the store is lost' : 'the store is back'),
      onOperation(operation, milliseconds, error) {
        metrics.storeSeconds.observe({ operation }, milliseconds / 1000);
        if (error !== null) metrics.storeErrors.inc({ operation, code: failureOf(error).code });
      },
    });
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
    throw new UnusableStore(
      `The store cannot be opened (${describeStore(config.state)}): ${reason}. Check PROXY_DATABASE_URL, PROXY_STORE_KEY or the file, or start with PROXY_STORE=off.`,
      { cause: error },
    );
  }
};

/** Opens the store of a configuration. Rejects with the reason if it cannot. */
export const openConfiguredStore = ({ state }: Config, hooks: StoreHooks = {}): Promise<Store> =>
  openStore({
    databaseUrl: state.databaseUrl,
    file: storeFile(state),
    keys: state.keys,
    timeoutMs: state.timeoutMs,
    sync: state.sync,
    clock: systemAmbient.clock,
    ...hooks,
  });

export interface OpenSignatures {
  readonly signer: Signer;
  readonly keyIds: KeyIds;
  close(): void;
}

const RETRY_MS = 30_000;

/**
 * What needs a secret that all instances share: signs the reasoning that clients of Anthropic's API keep, and makes the ids
 * of configured keys. The secret is the configured key, else that of the store, which all its instances use, else that of
 * this installation, which is also used while the store fails.
 */
export const openSignatures = async (
  store: Store | null,
  { state }: Pick<Config, 'state'>,
  logger: Logger,
): Promise<OpenSignatures> => {
  const configured = state.signatureKeys;
  const own = configured.length > 0 ? null : await ownKey(state.dir, logger);
  const first = (own === null ? configured : [own]).map(keyBytes);
  const signer = new TextSigner(first);
  const keyIds = new KeyIds(first);
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;
  const share = async (): Promise<void> => {
    if (store === null || own === null) return;
    try {
      const shared = await sharedKey(store.memory, own, systemAmbient.clock);
      const both = [shared, own].map(keyBytes);
      signer.use(both);
      keyIds.use(both);
    } catch (err) {
      if (timer === null)
        logger.warn(
          { err },
          'the store fails: reasoning that clients keep is signed with a key that other instances do not know, and configured keys have other ids there',
        );
      if (!isClosed) timer = setTimeout(() => void share(), RETRY_MS).unref();
    }
  };
  await share();
  return {
    signer,
    keyIds,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
};

/** A server without a folder to write to can still answer. */
const ownKey = async (dir: string, logger: Logger): Promise<string> => {
  try {
    const { secret } = await loadOrCreateSecret(path.join(dir, 'signature-key'));
    keyBytes(secret);
    return secret;
  } catch (err) {
    logger.warn(
      { err },
      'the key for signatures cannot be read or written: at a restart, reasoning that clients keep is lost, and configured keys get other ids',
    );
    return randomBytes(32).toString('base64url');
  }
};

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
