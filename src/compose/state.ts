import type { Config } from '../config/schema.ts';
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
import type { Store } from '../store/store.ts';
import type { TurnStates } from '../turns/turn-state.ts';

/** What is kept between requests. */
export interface OpenState {
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly states: TurnStates;
  readonly responses: StoredResponses;
  /** Null: nothing is stored. */
  readonly kept: StateParts | null;
}

export interface StateDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** `store` null: nothing is stored. */
export const openState = (store: Store | null, config: Config, deps: StateDeps): OpenState => {
  const kept = store === null ? null : keptIn(store, config, deps);
  return {
    store,
    kept,
    states: createTurnStates({
      kept,
      ambient: systemAmbient,
      onUnstored: (err) => deps.logger.error({ err }, 'an answer could not be stored'),
    }),
    responses: createStoredResponses(kept),
  };
};

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
