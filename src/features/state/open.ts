import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { AllConversations } from './all-conversations.ts';
import { openBackground } from './background/open.ts';
import { Chains } from './chains.ts';
import { ConversationLocks, createOpenConversation } from './conversation-locks.ts';
import { Conversations } from './conversations.ts';
import type { STATE_TABLES } from './feature.ts';
import { createReferredItems, RecentItems } from './referred-items.ts';
import { allConversationsRoutes } from './routes/all-conversations.ts';
import { storedChatRoutes } from './routes/chats.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { storedResponseRoutes } from './routes/responses.ts';
import { StoredChats } from './stored-chats.ts';
import { createStoredResponses } from './stored-responses.ts';
import { createTurnStates, type StateParts } from './turn-states.ts';
import type { StateStore } from './store/port.ts';
import { stateStoreOf } from './store/state-store.ts';

const HOUR_MS = 60 * 60_000;

type StateOwn = Own<typeof STATE_TABLES>;

/** Without a store, only WebSockets remember their responses. */
export const openState = async (core: Core, own: StateOwn): Promise<OpenFeature<typeof STATE_TABLES>> => {
  const { ambient, bodies, logger } = core;
  const store = core.store === null ? null : stateStoreOf(core.store);
  const kept = store === null ? null : keptIn(store, core, own);
  const responses = createStoredResponses(kept);
  const background = store === null ? null : openBackground({ store, responses }, core, own);
  const mayKeep = (caller: string) => own.offers.gate.keep(caller);
  return {
    routes: {
      ...storedResponseRoutes({ responses, background, bodies }),
      ...conversationRoutes({ kept, mayKeep, bodies }),
      ...storedChatRoutes({ kept, mayKeep, bodies }),
      ...allConversationsRoutes({ kept, bodies }),
    },
    offers: {
      states: createTurnStates({
        kept,
        ambient,
        onUnstored: (err) => logger.error({ err }, 'an answer could not be stored'),
      }),
      background,
    },
    start: () => background?.start(),
    async drain(timeoutMs) {
      await background?.drain(timeoutMs);
    },
    async close() {
      await background?.close();
    },
  };
};

/** Half of the memory is for conversations, half for items that are referred to. */
export const keptIn = (
  store: StateStore,
  { ambient, logger, storeTtlMs: ttlMs }: Pick<Core, 'ambient' | 'logger' | 'storeTtlMs'>,
  { settings, metrics }: Pick<StateOwn, 'settings' | 'metrics'>,
): StateParts => {
  const maxBytes = (settings.itemMemoryMb * 1024 * 1024) / 2;
  const { clock } = ambient;
  const memory = { chains: 0, items: 0 };
  const onChange = (of: keyof typeof memory) => (bytes: number) => {
    memory[of] = bytes;
    metrics.itemBytesRemembered.set(memory.chains + memory.items);
  };
  const locks = new ConversationLocks({
    store,
    ambient,
    waitMs: settings.conversationWaitMs,
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
    conversations: new Conversations({ store, locks, ambient, ttlMs }),
    all: new AllConversations({ store, locks, chains, items }),
    ttlMs,
  };
};
