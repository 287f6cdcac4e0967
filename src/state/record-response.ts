import { afterCompaction } from '../canonical/request/compaction.ts';
import type { Item } from '../canonical/request/item.ts';
import type { Ambient, IdSource } from '../kit/ambient.ts';
import { charsIn, isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { Onto, ResponseStatus } from '../store/store.ts';
import type { KeptResponse } from '../turns/api.ts';
import type { FinishedAnswer, StateAsk } from '../turns/turn-state.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import { unknownConversation } from './conversation-locks.ts';
import { printed } from './print-body.ts';
import { responseBody } from './stored-response.ts';
import { sentItems, turnBody } from './stored-turn.ts';
import type { Continued, Kept } from './turn-states.ts';

export type FinishedResponse = FinishedAnswer & { readonly keeps: KeptResponse };

interface Recorded {
  readonly ask: StateAsk;
  readonly ambient: Ambient;
  /** Null: nothing is stored. */
  readonly kept: Kept | null;
}

/** Keeps a response and its turn: in the store, or in the memory of its connection. */
export const recordResponse = async (
  answer: FinishedResponse,
  continued: Continued,
  { ask, ambient, kept }: Recorded,
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
  if (kept === null || !(keeps.isStored || recorded.onto.kind === 'conversation')) return;
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
  readonly kept: Kept;
  readonly now: number;
}

/** In one transaction. */
const store = async (
  answer: FinishedResponse,
  { chain, items: before }: Continued,
  { items, cacheKey, onto, ask, kept, now }: Recording,
): Promise<void> => {
  const { keeps, turns } = answer;
  const [{ made }] = turns;
  // What only the connection remembers becomes a part of the first turn that is stored.
  const input = chain === null ? [...before, ...keeps.input] : keeps.input;
  const body = await printed(turnBody({ input, output: made }), ask.signal);
  const expiresAt = now + kept.ttlMs;
  const at = await kept.store.turns.commit({
    owner: ask.caller,
    onto,
    turn: { key: turnKeyOf(keeps.id), body, itemIds: made.map(({ id }) => id) },
    response: keeps.isStored
      ? { ...(await rowOf(answer, ask.signal)), isBackground: false, expiresAt }
      : null,
    expiresAt,
  });
  if (at === null) {
    // Deleted in the meantime, by a process that did not know of the lock any more.
    throw onto.kind === 'conversation' ? unknownConversation(onto.id) : gatewayError('store_unavailable');
  }
  for (const item of made) kept.items.remember(ask.caller, item);
  // Another turn came in between: its writer had lost the lock, or took it from this one.
  if (onto.kind === 'conversation' && at.pos !== (chain?.at.pos ?? -1) + 1) return;
  const chars = (chain?.chars ?? 0) + body.length;
  kept.chains.keep(ask.caller, { at, items, cacheKey, chars, canChange: chain?.canChange ?? false }, chain);
};

/** Parsed objects take about twice their text. */
const BYTES_PER_CHAR = 2;

/** A response id without its prefix. */
export const turnKeyOf = (responseId: string): string => responseId.slice(responseId.indexOf('_') + 1);

/** A failed answer is not added to its conversation, but can be continued. */
const ontoOf = (
  { continues, chain }: Continued,
  isFailed: boolean,
  { cacheKey, ids }: { readonly cacheKey: string; readonly ids: IdSource },
): Onto => {
  if (continues?.kind === 'conversation' && !isFailed) return { kind: 'conversation', id: continues.id };
  const segment = ids.mint('seg');
  return chain === null || chain.at.pos < 0
    ? { kind: 'new', segment, cacheKey }
    : { kind: 'after', at: chain.at, fork: segment, cacheKey };
};

const rowOf = async ({ keeps, turns: [{ made, reply }], project }: FinishedResponse, signal: AbortSignal) => {
  const projected = project();
  // The items are stored apart. Its place is kept, so that every answer has the same order of members.
  const object: JsonObject = isJsonObject(projected) ? { ...projected, output: [] } : {};
  const isAsMade =
    made.length === reply.items.length && made.every((item, index) => item === reply.items[index]);
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
