import { failureOf } from '../canonical/failure/failure.ts';
import type { Config } from '../config/schema.ts';
import { describeStore, storeFile } from './describe-store.ts';
import { withShownIds } from '../store/key-ids.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { AllConversations } from '../state/all-conversations.ts';
import { Chains } from '../state/chains.ts';
import { ConversationLocks, createOpenConversation } from '../state/conversation-locks.ts';
import { Conversations } from '../state/conversations.ts';
import { RecentItems, createReferredItems } from '../state/referred-items.ts';
import { createStoredResponses, type StoredResponses } from '../state/stored-responses.ts';
import { StoredChats } from '../state/stored-chats.ts';
import { createTurnStates, type StateParts } from '../state/turn-states.ts';
import { openStore } from './open-store.ts';
import type { Store } from '../store/store.ts';
import type { StoreOptions } from '../store/store-options.ts';
import { startSweeper } from '../store/sweeper.ts';
import type { TurnStates } from '../turns/turn-state.ts';
import { openSignatures, type OpenSignatures } from './signatures.ts';

/** What is kept between requests. */
export interface OpenState {
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly signatures: OpenSignatures;
  readonly states: TurnStates;
  readonly responses: StoredResponses;
  /** Null: nothing is stored. */
  readonly kept: StateParts | null;
  close(): Promise<void>;
}

export interface StateDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The database cannot be used; the message says what to do. */
export class UnusableStore extends Error {}

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

export const openState = async (config: Config, deps: StateDeps): Promise<OpenState> => {
  const { logger } = deps;
  const opened = config.state.store === 'off' ? null : await openedStore(config, deps);
  const signatures = await openSignatures(opened, config, logger);
  const store = opened === null ? null : withShownIds(opened, signatures.keyIds);
  const kept = store === null ? null : keptIn(store, config, deps);
  const states = createTurnStates({
    kept,
    ambient: systemAmbient,
    onUnstored: (err) => logger.error({ err }, 'an answer could not be stored'),
  });
  const sweeper =
    store === null
      ? null
      : startSweeper({
          store,
          clock: systemAmbient.clock,
          onSwept: (rows) => deps.metrics.storeSwept.inc(rows),
          onError: (err) => logger.warn({ err }, 'expired rows could not be deleted'),
        });
  return {
    store,
    signatures,
    states,
    kept,
    responses: createStoredResponses(kept),
    async close() {
      signatures.close();
      await sweeper?.stop();
      await store?.close();
    },
  };
};

const openedStore = async (config: Config, { logger, metrics }: StateDeps): Promise<Store> => {
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
export const openConfiguredStore = (
  { state }: Config,
  hooks: Pick<StoreOptions, 'onChange' | 'onOperation'> = {},
): Promise<Store> =>
  openStore({
    databaseUrl: state.databaseUrl,
    file: storeFile(state),
    keys: state.keys,
    timeoutMs: state.timeoutMs,
    clock: systemAmbient.clock,
    ...hooks,
  });

/** Half of the memory is for conversations, half for items that are referred to. */
const keptIn = (store: Store, config: Config, { logger, metrics }: StateDeps): StateParts => {
  const maxBytes = (config.api.itemMemoryMb * 1024 * 1024) / 2;
  const { clock } = systemAmbient;
  const memory = { chains: 0, items: 0 };
  const onChange = (of: keyof typeof memory) => (bytes: number) => {
    memory[of] = bytes;
    metrics.itemBytesRemembered.set(memory.chains + memory.items);
  };
  const ttlMs = config.state.ttlDays * DAY_MS;
  const locks = new ConversationLocks({
    store,
    ambient: systemAmbient,
    waitMs: config.state.conversationWaitMs,
    onError: (err) => logger.warn({ err }, 'the lock of a conversation could not be renewed or released'),
  });
  const chains = new Chains({ store, maxBytes, clock, onChange: onChange('chains') });
  const recent = new RecentItems({
    maxBytes,
    maxAgeMs: Math.min(ttlMs, HOUR_MS),
    clock,
    onChange: onChange('items'),
  });
  const items = createReferredItems(store, recent);
  return {
    store,
    chains,
    items,
    openConversation: createOpenConversation({ store, chains, locks }),
    chats: new StoredChats({ store, clock, ttlMs }),
    conversations: new Conversations({ store, locks, ambient: systemAmbient, ttlMs }),
    all: new AllConversations({ store, locks, chains, items }),
    ttlMs,
  };
};
