import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import type { Item } from '../canonical/request/item.ts';
import type { Ambient } from '../kit/ambient.ts';
import { mapAll } from '../kit/collections/lists.ts';
import { quoted } from '../kit/text/display.ts';
import type { Store } from '../store/store.ts';
import { type Continues, type KeptMessage, NOTHING_LOADED } from '../turns/api.ts';
import { insistently } from '../turns/insistently.ts';
import type { FinishedAnswer, StateAsk, TurnState, TurnStates } from '../turns/turn-state.ts';
import type { AllConversations } from './all-conversations.ts';
import type { Chains } from './chains.ts';
import { type OpenConversation, unknownConversation } from './conversation-locks.ts';
import type { Conversations } from './conversations.ts';
import { type FinishedResponse, recordResponse } from './record-response.ts';
import type { ReferredItems } from './referred-items.ts';
import type { StoredChats } from './stored-chats.ts';
import { isRunning } from './stored-turn.ts';

export interface TurnStateDeps {
  /** Null: nothing is stored. */
  readonly kept: StateParts | null;
  readonly ambient: Ambient;
  /** An answer could not be stored, and its client sees it anyway. */
  readonly onUnstored: (error: unknown) => void;
}

/** The store, and what is in front of it. */
export interface StateParts {
  readonly store: Store;
  readonly chains: Chains;
  readonly items: ReferredItems;
  readonly openConversation: OpenConversation;
  readonly conversations: Conversations;
  readonly chats: StoredChats;
  /** Those of all callers. */
  readonly all: AllConversations;
  /** How long a response is kept, from its creation, and a conversation, from its last use. */
  readonly ttlMs: number;
}

/** What a request continues. */
export interface PriorTurns {
  readonly continues: Continues | null;
  readonly items: readonly Item[];
  readonly cacheKey: string | null;
  /** Where it is stored; null: it is only in the memory of the connection, or new. */
  readonly chain: Awaited<ReturnType<Chains['upTo']>>;
  /** What the connection remembers of it, approximately. */
  readonly bytes: number;
  release(): void;
}

const NEW: PriorTurns = { continues: null, items: [], cacheKey: null, chain: null, bytes: 0, release() {} };

/** What requests refer to and leave behind is in the store, or in the memory of their connection. */
export const createTurnStates = (deps: TurnStateDeps): TurnStates => ({
  async open(ask) {
    const { references = [], continues = null } = ask.references;
    const items = references.length === 0 ? undefined : await deps.kept?.items.load(ask, references);
    const continued = continues === null ? NEW : await load(continues, { ask, deps });
    return stateOf(continued, items ?? NOTHING_LOADED.items, { ask, deps });
  },
});

interface StateContext {
  readonly ask: StateAsk;
  readonly deps: TurnStateDeps;
}

const load = async (continues: Continues, { ask, deps: { kept } }: StateContext): Promise<PriorTurns> => {
  if (continues.kind === 'conversation') {
    if (kept === null) throw unknownConversation(continues.id, SEND_IT);
    const { chain, release } = await kept.openConversation(ask, continues.id);
    return { continues, items: chain.items, cacheKey: chain.cacheKey, chain, bytes: 0, release };
  }
  const local = ask.local?.find(continues.id) ?? null;
  if (local !== null) {
    ask.onBytes(local.bytes);
    return { ...NEW, continues, ...local };
  }
  if (kept === null) throw previousNotFound(continues.id, SEND_IT);
  const isThread = continues.kind === 'message';
  const notFound = isThread ? threadNotFound : previousNotFound;
  const found =
    isThread === isMessageId(continues.id) ? await kept.store.responses.at(ask.caller, continues.id) : null;
  if (found === null) throw notFound(continues.id);
  if (found.position === null) {
    throw isRunning(found.status) ? previousUnfinished(continues.id) : notFound(continues.id);
  }
  const chain = await kept.chains.upTo(ask.caller, found.position, ask);
  if (chain === null) throw notFound(continues.id);
  return { ...NEW, continues, items: chain.items, cacheKey: chain.cacheKey, chain };
};

const stateOf = (
  continued: PriorTurns,
  items: ReadonlyMap<string, Item>,
  { ask, deps }: StateContext,
): TurnState => ({
  loaded: { ...NOTHING_LOADED, items, chain: continued.items },
  cacheKey: continued.cacheKey,
  isKept: (keeps) =>
    deps.kept !== null &&
    keeps !== undefined &&
    (keeps.kind !== 'response' ||
      keeps.isStored ||
      keeps.queued !== null ||
      continued.continues?.kind === 'conversation'),
  async record(answer: FinishedAnswer) {
    const { keeps } = answer;
    try {
      if (keeps.kind === 'response') {
        const record = () => recordResponse({ ...answer, keeps }, continued, { ask, ...deps });
        await (keeps.queued === null ? record() : insistently(record, answer.signal));
      } else if (!hasFailed(answer)) {
        if (keeps.kind === 'message') {
          await recordResponse(asResponse(answer, keeps), continued, { ask, ...deps });
        } else await deps.kept?.chats.add(ask, keeps, answer.project());
      }
      return true;
    } catch (error) {
      // Its conversation would go on without it, or those who poll it would not learn that it has ended.
      const isNeeded = keeps.kind === 'response' && keeps.queued !== null;
      if (isNeeded || continued.continues?.kind === 'conversation') throw error;
      deps.onUnstored(error);
      return false;
    } finally {
      continued.release();
    }
  },
  release: () => continued.release(),
});

/** A message is stored like a response without an object. */
const asResponse = (answer: FinishedAnswer, keeps: KeptMessage): FinishedResponse => ({
  ...answer,
  keeps: { ...keeps, kind: 'response', isStored: true, include: [], queued: null },
  turns: mapAll(answer.turns, ({ made, reply }) => ({ made, reply: { ...reply, items: made } })),
  project: () => ({}),
});

const hasFailed = ({ turns }: FinishedAnswer): boolean =>
  turns.some(({ reply }) => reply.outcome.kind === 'failed');

/** Why a server without a store finds nothing, for messages. */
export const STORES_NOTHING = 'This server stores nothing (PROXY_STORE=off)';
const SEND_IT = ` ${STORES_NOTHING}: send the whole conversation as input.`;

const previousNotFound = (id: string, why = ''): GatewayError =>
  gatewayError('previous_response_not_found', {
    param: 'previous_response_id',
    message: `Previous response with id '${quoted(id)}' not found.${why}`,
  });

const threadNotFound = (id: string): GatewayError =>
  gatewayError('thread_not_found', {
    param: 'thread.previous_message_id',
    message: `Thread with message '${quoted(id)}' not found.`,
    more: { details: { error_code: 'thread_not_found' } },
  });

const previousUnfinished = (id: string): GatewayError =>
  gatewayError('invalid_value', {
    param: 'previous_response_id',
    message: `Previous response with id '${quoted(id)}' has not ended yet. Wait for its end, then continue it.`,
  });

/** Whether an id is that of a message of the Messages API. Messages are stored like responses, but have no response object. */
export const isMessageId = (id: string): boolean => id.startsWith('msg_');
