import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { runSliced, yieldToLoop } from '../../kit/async/event-loop.ts';
import { quoted } from '../../kit/text/display.ts';
import type { SegmentRow, SegmentTurn, StateStore } from './store/port.ts';
import type { Chains } from './chains.ts';
import type { LoadLimits } from '../../turns/turn-state.ts';
import { unknownConversation, type ConversationLocks } from './conversation-locks.ts';
import type { ReferredItems } from './referred-items.ts';
import {
  readConversation,
  type Metadata,
  isCorrupt,
  readStoredTurn,
  visibleItems,
  type StoredItem,
} from './stored-turn.ts';

export interface AllConversationsDeps {
  readonly store: StateStore;
  readonly locks: ConversationLocks;
  readonly chains: Chains;
  readonly items: ReferredItems;
}

export interface FoundConversation extends SegmentRow {
  /** Null: a chain has none, or it cannot be read. */
  readonly metadata: Metadata | null;
}

/** A turn as an operator sees it. */
export interface ShownTurn {
  readonly id: string;
  readonly responseId: string | null;
  /** Without those that were deleted. */
  readonly items: readonly StoredItem[];
  /** Why it cannot be read. */
  readonly error: string | null;
}

export interface TurnQuery {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The id of the turn before the page. */
  readonly after: string | null;
}

/** A page ends early beyond so many characters. */
const MAX_PAGE_CHARS = 4 * 1024 * 1024;
/** Responses and turns that are deleted in one transaction. */
const DELETED_AT_ONCE = 100;

/** What all keys have stored, for operators. Throws `unknown_conversation` if there is no such conversation or chain. */
export class AllConversations {
  readonly #deps: AllConversationsDeps;

  constructor(deps: AllConversationsDeps) {
    this.#deps = deps;
  }

  /** The newest first. */
  async list(query: {
    readonly owner: string | null;
    readonly after: string | null;
    readonly limit: number;
  }): Promise<{ readonly rows: readonly SegmentRow[]; readonly hasMore: boolean }> {
    // One more than asked for says whether there are more.
    const rows = await this.#deps.store.segments.list({ ...query, limit: query.limit + 1 });
    if (rows === null) throw unknownCursor(query.after, 'conversation');
    return { rows: rows.slice(0, query.limit), hasMore: rows.length > query.limit };
  }

  async find(id: string): Promise<FoundConversation> {
    const { body, ...row } = await this.#row(id);
    return { ...row, metadata: body === null ? null : await metadataIn(id, body) };
  }

  /** Its turns, and before them those that it continues. */
  async turns(
    { onBytes, signal }: LoadLimits,
    id: string,
    query: TurnQuery,
  ): Promise<{ readonly turns: readonly ShownTurn[]; readonly hasMore: boolean }> {
    const page = await this.#deps.store.segments.turns(id, { ...query, maxChars: MAX_PAGE_CHARS });
    if (page === null) throw unknownCursor(query.after, 'turn');
    const turns: ShownTurn[] = [];
    for (const turn of page.turns) {
      onBytes(turn.body?.length ?? 0);
      await yieldToLoop(signal);
      turns.push(await shown(turn, signal));
    }
    return { turns, hasMore: page.hasMore };
  }

  /**
   * Deletes it with its responses. Waits for a request that writes to the conversation. Resolves to the number of turns that
   * stay because other conversations continue them.
   */
  async delete(id: string, signal: AbortSignal): Promise<number> {
    const { kind, owner } = await this.#row(id);
    if (kind === 'chain') return this.#deleteAll(owner, id, signal);
    const lock = await this.#deps.locks.take(id, { caller: owner, signal }).catch((error: unknown) => {
      // No request can write to a conversation that cannot be read: there is nothing to wait for.
      if (isCorrupt(error)) return null;
      throw error;
    });
    try {
      return await this.#deleteAll(owner, id, signal);
    } finally {
      lock?.release();
    }
  }

  async #deleteAll(owner: string, segment: string, signal: AbortSignal): Promise<number> {
    const { store, chains, items } = this.#deps;
    for (;;) {
      const cut = await store.segments.delete(segment, DELETED_AT_ONCE);
      if (cut === null) return 0;
      for (let pos = cut.keptTip + 1; pos <= cut.tip; pos += 1) chains.drop(owner, { segment, pos });
      items.forget(owner, cut.itemIds);
      if (cut.isDone) return cut.keptTip + 1;
      await yieldToLoop(signal);
    }
  }

  async #row(id: string) {
    const row = await this.#deps.store.segments.find(id);
    if (row === null) throw unknownConversation(id);
    return row;
  }
}

const UNREADABLE = 'This turn cannot be read. Its key may be missing in PROXY_STORE_KEY.';

const shown = async ({ key, responseId, body }: SegmentTurn, signal: AbortSignal): Promise<ShownTurn> => {
  const unread = { id: key, responseId, items: [], error: UNREADABLE };
  if (body === null) return unread;
  const turn = await ifReadable(() => runSliced(readStoredTurn({ key, body }), signal));
  return turn === null ? unread : { id: key, responseId, items: visibleItems(key, turn), error: null };
};

const metadataIn = (id: string, body: string): Promise<Metadata | null> =>
  ifReadable(() => readConversation({ id, body }));

/** Null: it is not what this program wrote. */
const ifReadable = async <Value>(readIt: () => Promise<Value> | Value): Promise<Value | null> => {
  try {
    return await readIt();
  } catch (error) {
    if (isCorrupt(error)) return null;
    throw error;
  }
};

const unknownCursor = (id: string | null, what: string): GatewayError =>
  gatewayError('invalid_value', {
    param: 'after',
    message: `Invalid 'after': there is no ${what} with id '${quoted(id ?? '')}'.`,
  });
