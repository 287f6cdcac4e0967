import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import type { Ambient } from '../kit/ambient.ts';
import { runSliced } from '../kit/async/event-loop.ts';
import { quoted } from '../kit/text/quote.ts';
import type { Store } from '../store/store.ts';
import type { StateAsk } from '../turns/turn-state.ts';
import { parseTurns, type Chain } from './chains.ts';

export interface OpenedConversation {
  readonly chain: Chain;
  readonly release: () => void;
}

/** Loads a conversation and locks it, until it is released, against other writers. */
export type OpenConversation = (
  ask: Pick<StateAsk, 'caller' | 'signal' | 'onBytes'>,
  id: string,
) => Promise<OpenedConversation>;

const LOCKED_FOR_MS = 10_000;

export const createOpenConversation =
  (store: Store, { clock, ids }: Ambient): OpenConversation =>
  async ({ caller, onBytes, signal }, id) => {
    const holder = ids.mint('lock');
    const locked = await store.conversations.lock(caller, id, { holder, until: clock.now() + LOCKED_FOR_MS });
    if (locked === null) throw unknownConversation(id);
    if (locked === false) throw gatewayError('conversation_locked', { param: 'conversation' });
    const release = (): void => void store.conversations.unlock(caller, id, holder);
    try {
      const at = { segment: id, pos: locked.tip };
      const chars = locked.tip < 0 ? 0 : ((await store.turns.size(caller, at)) ?? 0);
      onBytes(chars);
      const rows = locked.tip < 0 ? [] : await store.turns.upTo(caller, at);
      const items = await runSliced(parseTurns(rows), signal);
      return { chain: { at, items, cacheKey: locked.cacheKey, chars }, release };
    } catch (error) {
      release();
      throw error;
    }
  };

export const unknownConversation = (id: string): GatewayError =>
  gatewayError('unknown_conversation', {
    param: 'conversation',
    message: `Conversation with id '${quoted(id)}' not found.`,
  });
