import { runSliced } from '../kit/async/event-loop.ts';
import type { ConversationRow, Store } from '../store/store.ts';
import type { StateAsk } from '../turns/turn-state.ts';
import { parseTurns, type Chain } from './chains.ts';
import { unknownConversation, type ConversationLocks } from './conversation-locks.ts';

export interface OpenedConversation {
  readonly chain: Chain;
  readonly release: () => void;
}

export type ConversationAsk = Pick<StateAsk, 'caller' | 'signal' | 'onBytes' | 'isOnlyRead'>;

/** Loads a conversation and locks it, until it is released, against other writers. */
export type OpenConversation = (ask: ConversationAsk, id: string) => Promise<OpenedConversation>;

export const createOpenConversation =
  (store: Pick<Store, 'turns' | 'conversations'>, locks: Pick<ConversationLocks, 'take'>): OpenConversation =>
  async (ask, id) => {
    if (ask.isOnlyRead === true) {
      const row = await store.conversations.find(ask.caller, id);
      if (row === null) throw unknownConversation(id);
      return { chain: await chainOf(row, ask, store), release() {} };
    }
    const lock = await locks.take(id, ask);
    const release = (): void => lock.release();
    try {
      return { chain: await chainOf(lock.row, ask, store), release };
    } catch (error) {
      release();
      throw error;
    }
  };

const chainOf = async (
  { id, tip, cacheKey }: ConversationRow,
  { caller, signal, onBytes }: ConversationAsk,
  { turns }: Pick<Store, 'turns'>,
): Promise<Chain> => {
  const chain = { at: { segment: id, pos: tip }, cacheKey, canChange: true };
  if (tip < 0) return { ...chain, items: [], chars: 0 };
  const chars = (await turns.size(caller, chain.at)) ?? 0;
  onBytes(chars);
  const rows = await turns.upTo(caller, chain.at);
  return { ...chain, items: await runSliced(parseTurns(rows), signal), chars };
};
