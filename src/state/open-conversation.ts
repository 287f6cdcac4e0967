import type { Store } from '../store/store.ts';
import type { StateAsk } from '../turns/turn-state.ts';
import type { Chain, Chains } from './chains.ts';
import { unknownConversation, type ConversationLocks } from './conversation-locks.ts';

export interface OpenedConversation {
  readonly chain: Chain;
  readonly release: () => void;
}

export type ConversationAsk = Pick<StateAsk, 'caller' | 'signal' | 'onBytes' | 'isOnlyRead'>;

/** Loads a conversation and locks it, until it is released, against other writers. */
export type OpenConversation = (ask: ConversationAsk, id: string) => Promise<OpenedConversation>;

export interface OpenConversationDeps {
  readonly store: Pick<Store, 'conversations'>;
  readonly chains: Pick<Chains, 'whole'>;
  readonly locks: Pick<ConversationLocks, 'take'>;
}

export const createOpenConversation =
  ({ store, chains, locks }: OpenConversationDeps): OpenConversation =>
  async (ask, id) => {
    if (ask.isOnlyRead === true) {
      const row = await store.conversations.find(ask.caller, id);
      if (row === null) throw unknownConversation(id);
      return { chain: await chains.whole(ask.caller, row, ask), release() {} };
    }
    const { row, release } = await locks.take(id, ask);
    try {
      return { chain: await chains.whole(ask.caller, row, ask), release };
    } catch (error) {
      release();
      throw error;
    }
  };
