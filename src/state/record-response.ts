import { afterCompaction } from '../canonical/request/compaction.ts';
import type { Item } from '../canonical/request/item.ts';
import type { Ambient, IdSource } from '../kit/ambient.ts';
import { charsIn, isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { Onto, ResponseStatus } from '../store/store.ts';
import type { KeptResponse } from '../turns/api.ts';
import type { FinishedAnswer, StateAsk } from '../turns/turn-state.ts';
import { failure, GatewayError, gatewayError } from '../canonical/failure/failure.ts';
import { unknownConversation } from './conversation-locks.ts';
import { printed, isRunning, responseBody, sentItems, turnBody } from './stored-turn.ts';
import type { PriorTurns, StateParts } from './turn-states.ts';

/** How long the events of a stream, and background responses with `store: false`, are kept after their end. */
export const SHORT_TTL_MS = 10 * 60_000;

/** A background response was cancelled, deleted or taken over by another instance before its answer could be stored. */
export class ResponseGone extends GatewayError {
  constructor() {
    super(failure('unknown_response'));
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
export const recordResponse = async (
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
  return gatewayError('previous_response_not_found');
};

/** A response id without its prefix. */
export const turnKeyOf = (responseId: string): string => responseId.slice(responseId.indexOf('_') + 1);

/** A failed answer is not added to its conversation, but can be continued. */
const ontoOf = (
  { continues, chain }: PriorTurns,
  isFailed: boolean,
  { cacheKey, ids }: { readonly cacheKey: string; readonly ids: IdSource },
): Onto => {
  if (continues?.kind === 'conversation' && !isFailed) return { kind: 'conversation', id: continues.id };
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
