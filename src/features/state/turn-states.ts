import { gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import { afterCompaction } from '../../canonical/request/compaction.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Ambient, IdSource } from '../../kit/ambient.ts';
import { mapAll } from '../../kit/collections/lists.ts';
import { charsIn, isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import type { Onto, ResponseStatus, StateStore } from './store/port.ts';
import { type Continues, type KeptMessage, NOTHING_LOADED, type KeptResponse } from '../../turns/api.ts';
import { insistently } from '../../turns/insistently.ts';
import type { FinishedAnswer, StateAsk, TurnState, TurnStates } from '../../turns/turn-state.ts';
import type { AllConversations } from './all-conversations.ts';
import type { Chains } from './chains.ts';
import { type OpenConversation, unknownConversation } from './conversation-locks.ts';
import type { Conversations } from './conversations.ts';
import type { ReferredItems } from './referred-items.ts';
import type { StoredChats } from './stored-chats.ts';
import { isRunning, printed, responseBody, sentItems, turnBody } from './stored-turn.ts';
import { stateError } from './failures.ts';

export interface TurnStateDeps {
  /** Null: nothing is stored. */
  readonly kept: StateParts | null;
  readonly ambient: Ambient;
  /** An answer could not be stored, and its client sees it anyway. */
  readonly onUnstored: (error: unknown) => void;
}

/** The store, and what is in front of it. */
export interface StateParts {
  readonly store: StateStore;
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
  stateError('previous_response_not_found', {
    param: 'previous_response_id',
    message: `Previous response with id '${quoted(id)}' not found.${why}`,
  });

const threadNotFound = (id: string): GatewayError =>
  stateError('thread_not_found', {
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

/** How long the events of a stream, and background responses with `store: false`, are kept after their end. */
export const SHORT_TTL_MS = 10 * 60_000;

/** A background response was cancelled, deleted or taken over by another instance before its answer could be stored. */
export class ResponseGone extends GatewayError {
  constructor() {
    super(stateError('unknown_response').failure);
  }
}

export type FinishedResponse = FinishedAnswer & { readonly keeps: KeptResponse };

interface RecordDeps {
  readonly ask: StateAsk;
  readonly ambient: Ambient;
  /** Null: nothing is stored. */
  readonly kept: StateParts | null;
}

/** Keeps a response and its turn: in the store, or in the memory of its connection. */
const recordResponse = async (
  answer: FinishedResponse,
  continued: PriorTurns,
  { ask, ambient, kept }: RecordDeps,
): Promise<void> => {
  const { keeps, turns } = answer;
  const [{ made, reply }] = turns;
  const own = { input: keeps.input, output: made };
  const cacheKey = continued.cacheKey ?? answer.cacheKey;
  const recorded = {
    cacheKey,
    items: afterCompaction([...continued.items, ...sentItems(turnKeyOf(keeps.id), own)]),
    onto: ontoOf(continued, reply.outcome.kind === 'failed', { cacheKey, ids: ambient.ids }),
  };
  const remember = (): void => {
    if (ask.local === null) return;
    const bytes = continued.bytes + BYTES_PER_CHAR * charsIn(own);
    ask.local.add(keeps.id, { items: recorded.items, cacheKey, bytes });
  };
  if (!keeps.isStored || kept === null) remember();
  const isKept = keeps.isStored || keeps.queued !== null || recorded.onto.kind === 'conversation';
  if (kept === null || !isKept) return;
  try {
    await store(answer, continued, { ...recorded, ask, kept, now: ambient.clock.now() });
  } catch (error) {
    // The connection can go on.
    remember();
    throw error;
  }
};

interface Recording {
  readonly items: readonly Item[];
  readonly cacheKey: string;
  readonly onto: Onto;
  readonly ask: StateAsk;
  readonly kept: StateParts;
  readonly now: number;
}

/** In one transaction. */
const store = async (
  answer: FinishedResponse,
  { chain, items: before }: PriorTurns,
  { items, cacheKey, onto, ask, kept, now }: Recording,
): Promise<void> => {
  const { keeps, turns } = answer;
  const [{ made }] = turns;
  // What only the connection remembers becomes a part of the first turn that is stored.
  const input = chain === null ? [...before, ...keeps.input] : keeps.input;
  const isBackground = keeps.queued !== null;
  const row = keeps.isStored || isBackground ? await rowOf(answer) : null;
  if (row !== null && !keeps.isStored && onto.kind !== 'conversation') {
    await endUnstored(row, { owner: ask.caller, kept, now });
    return;
  }
  const body = await printed(turnBody({ input, output: made }), answer.signal);
  const expiresAt = now + kept.ttlMs;
  const at = await kept.store.turns.commit({
    owner: ask.caller,
    onto,
    turn: { key: turnKeyOf(keeps.id), body, itemIds: made.map(({ id }) => id) },
    response:
      row === null
        ? null
        : { ...row, isBackground, expiresAt: keeps.isStored ? expiresAt : now + SHORT_TTL_MS },
    expiresAt,
  });
  if (at === null) throw await reasonOf(answer, onto, { owner: ask.caller, kept });
  for (const item of made) kept.items.remember(ask.caller, item);
  // Another turn came in between: its writer had lost the lock, or took it from this one.
  if (onto.kind === 'conversation' && at.pos !== (chain?.at.pos ?? -1) + 1) return;
  const chars = (chain?.chars ?? 0) + body.length;
  kept.chains.keep(ask.caller, { at, items, cacheKey, chars, canChange: chain?.canChange ?? false }, chain);
};

/** Parsed objects take about twice their text. */
const BYTES_PER_CHAR = 2;

/** The end of a background response with `store: false`. It has no turn, so no request can continue it. */
const endUnstored = async (
  { id, status, body }: Awaited<ReturnType<typeof rowOf>>,
  { owner, kept, now }: Pick<Recording, 'kept' | 'now'> & { readonly owner: string },
): Promise<void> => {
  const end = { status, body, expiresAt: now + SHORT_TTL_MS };
  if ((await kept.store.responses.change(owner, id, end)) === null) throw new ResponseGone();
};

/** Why nothing was written. */
const reasonOf = async (
  { keeps: { id, queued } }: FinishedResponse,
  onto: Onto,
  { owner, kept }: Pick<Recording, 'kept'> & { readonly owner: string },
): Promise<GatewayError> => {
  if (queued !== null) {
    const found = await kept.store.responses.at(owner, id);
    if (found === null || !isRunning(found.status)) return new ResponseGone();
  }
  // Deleted in the meantime, by a process that did not know of the lock any more.
  if (onto.kind === 'conversation') return unknownConversation(onto.id);
  return stateError('previous_response_not_found');
};

/** A response id without its prefix. */
export const turnKeyOf = (responseId: string): string => responseId.slice(responseId.indexOf('_') + 1);

/** A failed answer is not added to its conversation, but can be continued. */
const ontoOf = (
  { continues, chain }: PriorTurns,
  isFailed: boolean,
  { cacheKey, ids }: { readonly cacheKey: string; readonly ids: IdSource },
): Onto => {
  if (continues?.kind === 'conversation' && !isFailed) {
    return { kind: 'conversation', id: continues.id, ...(chain === null ? {} : { tip: chain.at.pos }) };
  }
  const segment = ids.mint('seg');
  return chain === null || chain.at.pos < 0
    ? { kind: 'new', segment, cacheKey }
    : { kind: 'after', at: chain.at, fork: segment, cacheKey };
};

const rowOf = async ({ keeps, turns: [{ made, reply }], project, signal }: FinishedResponse) => {
  const projected = project();
  // The items are stored apart. Its place is kept, so that every answer has the same order of members.
  const object: JsonObject = isJsonObject(projected) ? { ...projected, output: [] } : {};
  const isAsMade =
    keeps.isStored &&
    made.length === reply.items.length &&
    made.every((item, index) => item === reply.items[index]);
  return {
    id: keeps.id,
    status: statusOf(object),
    createdAt: keeps.createdAt * 1000,
    body: await printed(
      responseBody({
        object,
        ...(isAsMade ? {} : { shown: reply.items }),
        ...(keeps.include.length === 0 ? {} : { include: keeps.include }),
      }),
      signal,
    ),
  };
};

const statusOf = ({ status }: JsonObject): ResponseStatus =>
  status === 'incomplete' || status === 'failed' ? status : 'completed';
