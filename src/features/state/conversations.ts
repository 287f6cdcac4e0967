import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { runSliced, yieldToLoop } from '../../kit/async/event-loop.ts';
import { append } from '../../kit/collections/lists.ts';
import { isRandomId } from '../../kit/text/patterns.ts';
import { quoted } from '../../kit/text/display.ts';
import type { ConversationRow, NewTurn, TurnRow, StateStore } from './store/port.ts';
import { newConversationId } from './chains.ts';
import type { LoadLimits } from '../../turns/turn-state.ts';
import { type ConversationLocks, type LockAsk, unknownConversation } from './conversation-locks.ts';
import {
  conversationBody,
  isCorrupt,
  type Metadata,
  printed,
  readConversation,
  readInputItemId,
  readStoredTurn,
  type StoredItem,
  storedItems,
  type StoredTurn,
  turnBody,
  visibleItems,
} from './stored-turn.ts';
import { stateError } from './failures.ts';

export interface Conversation {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly metadata: Metadata;
}

export interface ConversationsDeps {
  readonly store: Pick<StateStore, 'turns' | 'conversations'>;
  readonly locks: Pick<ConversationLocks, 'take'>;
  readonly ambient: Ambient;
  /** How long a conversation is kept, from the last time that something was written to it. */
  readonly ttlMs: number;
}

/** Conversations with a name. Every method throws `unknown_conversation` if the caller has no such conversation. */
export class Conversations {
  readonly #deps: ConversationsDeps;
  readonly #items: ConversationItems;

  constructor(deps: ConversationsDeps) {
    this.#deps = deps;
    this.#items = new ConversationItems(deps.store);
  }

  async create(
    { caller, signal }: LockAsk,
    { items, metadata }: { readonly items: readonly Item[]; readonly metadata: Metadata },
  ): Promise<Conversation> {
    const { store, ambient } = this.#deps;
    const id = newConversationId(ambient.ids);
    const createdAt = ambient.clock.now();
    await store.conversations.create({
      id,
      owner: caller,
      createdAt,
      expiresAt: this.#expiresAt(),
      body: conversationBody(metadata),
      cacheKey: id,
      turn: items.length === 0 ? null : await this.#newTurn(items, signal),
    });
    return { id, createdAt, metadata };
  }

  async find(caller: string, id: string): Promise<Conversation> {
    return shown(await this.#row(caller, id));
  }

  async update(caller: string, id: string, metadata: Metadata): Promise<Conversation> {
    const to = { body: conversationBody(metadata), expiresAt: this.#expiresAt() };
    const row = await this.#deps.store.conversations.update(caller, id, to);
    if (row === null) throw unknownConversation(id);
    return shown(row);
  }

  /** Responses of the conversation stay, and can be continued. */
  async delete(ask: LockAsk, id: string): Promise<void> {
    const remove = async (): Promise<void> => {
      if (!(await this.#deps.store.conversations.delete(ask.caller, id))) throw unknownConversation(id);
    };
    await this.#locked(ask, id, remove).catch((error: unknown) => {
      // No request can write to a conversation that cannot be read: there is nothing to wait for.
      if (isCorrupt(error)) return remove();
      throw error;
    });
  }

  /** Returns the items with their ids. */
  async addItems(ask: LockAsk, id: string, items: readonly Item[]): Promise<readonly StoredItem[]> {
    return this.#locked(ask, id, async () => {
      if (items.length === 0) return [];
      const { key } = await this.#addTurn(ask, id, items);
      return storedItems(key, { input: items, output: [] });
    });
  }

  async page(ask: LoadAsk, id: string, query: ItemQuery): Promise<ItemPage> {
    await this.#row(ask.caller, id);
    return this.#items.page(ask, id, query);
  }

  async item(ask: LoadAsk, id: string, itemId: string): Promise<StoredItem> {
    await this.#row(ask.caller, id);
    const found = await this.#items.find(ask, id, itemId);
    if (found === null || found.isHidden) throw unknownItem(itemId);
    return found;
  }

  /** The response that wrote the item still shows it. */
  async deleteItem(ask: LoadAsk, id: string, itemId: string): Promise<Conversation> {
    return this.#locked(ask, id, async (row) => {
      for (let attempt = 0; attempt < MAX_REWRITES; attempt += 1) {
        const found = await this.#items.find(ask, id, itemId);
        if (found === null || found.isHidden) throw unknownItem(itemId);
        const turn = await runSliced(readStoredTurn(found.row), ask.signal);
        const body = await printed(
          turnBody({ ...turn, hidden: [...(turn.hidden ?? []), itemId] }),
          ask.signal,
        );
        if (!(await this.#deps.store.turns.rewrite(ask.caller, found.row, body))) continue;
        // Other processes see by an empty turn that the conversation changed.
        await this.#addTurn(ask, id, []);
        return shown(row);
      }
      throw stateError('conversation_locked', { param: 'conversation' });
    });
  }

  async #locked<Value>(
    ask: LockAsk,
    id: string,
    work: (row: ConversationRow) => Promise<Value>,
  ): Promise<Value> {
    const lock = await this.#deps.locks.take(id, ask);
    try {
      return await work(lock.row);
    } finally {
      lock.release();
    }
  }

  async #addTurn({ caller, signal }: LockAsk, id: string, items: readonly Item[]): Promise<NewTurn> {
    const turn = await this.#newTurn(items, signal);
    const position = await this.#deps.store.turns.commit({
      owner: caller,
      onto: { kind: 'conversation', id },
      turn,
      response: null,
      expiresAt: this.#expiresAt(),
    });
    if (position === null) throw unknownConversation(id);
    return turn;
  }

  async #row(caller: string, id: string): Promise<ConversationRow> {
    const row = await this.#deps.store.conversations.find(caller, id);
    if (row === null) throw unknownConversation(id);
    return row;
  }

  async #newTurn(items: readonly Item[], signal: AbortSignal): Promise<NewTurn> {
    const minted = this.#deps.ambient.ids.mint('turn');
    return {
      key: minted.slice(minted.indexOf('_') + 1),
      body: await printed(turnBody({ input: items, output: [] }), signal),
      itemIds: [],
    };
  }

  #expiresAt(): number {
    return this.#deps.ambient.clock.now() + this.#deps.ttlMs;
  }
}

/** Only a writer without a lock, because it lost its lease, changes a turn at the same time. */
const MAX_REWRITES = 3;

const shown = (row: ConversationRow): Conversation => ({
  id: row.id,
  createdAt: row.createdAt,
  metadata: readConversation(row),
});

const unknownItem = (id: string): GatewayError =>
  gatewayError('unknown_item', { message: `Item with id '${quoted(id)}' not found.` });

interface ItemQuery {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The id of the item before the page; null: the page is the first one. */
  readonly after: string | null;
}

interface ItemPage {
  readonly items: readonly StoredItem[];
  readonly hasMore: boolean;
}

/** An item of a conversation, and the turn that has it. */
interface FoundItem extends StoredItem {
  readonly row: TurnRow;
  readonly turn: StoredTurn;
  /** Whether it was deleted. */
  readonly isHidden: boolean;
}

type LoadAsk = LoadLimits & { readonly caller: string };

/** Turns that are read at once. */
const FIRST_TURNS = 4;
const MAX_TURNS = 32;
const READ_CHARS = 4 * 1024 * 1024;
/** A page ends early beyond so many characters of turns. */
const MAX_PAGE_CHARS = 16 * 1024 * 1024;

/** Reads the items of conversations, turn by turn. */
class ConversationItems {
  readonly #store: Pick<StateStore, 'turns'>;

  constructor(store: Pick<StateStore, 'turns'>) {
    this.#store = store;
  }

  /** Null: the conversation never had such an item. */
  async find(
    { caller, onBytes, signal }: LoadAsk,
    conversation: string,
    itemId: string,
  ): Promise<FoundItem | null> {
    const row = await this.#turnWith(caller, itemId);
    if (row === null || row.segment !== conversation) return null;
    onBytes(row.body.length);
    const turn = await runSliced(readStoredTurn(row), signal);
    const found = storedItems(row.key, turn).find(({ id }) => id === itemId);
    return found === undefined
      ? null
      : { ...found, row, turn, isHidden: turn.hidden?.includes(itemId) ?? false };
  }

  /** The id of an input item names its turn; other ids are indexed. */
  async #turnWith(caller: string, itemId: string): Promise<TurnRow | null> {
    const { turns } = this.#store;
    const input = readInputItemId(itemId);
    if (input !== null) return turns.byKey(caller, input.turnKey);
    return isRandomId(itemId)
      ? ((await turns.byItems(caller, [itemId], READ_CHARS)).get(itemId) ?? null)
      : null;
  }

  /** A deleted item can still be named in `after`, so that a client can delete while it reads. */
  async page(ask: LoadAsk, conversation: string, query: ItemQuery): Promise<ItemPage> {
    const { limit, order, after } = query;
    const cursor = after === null ? null : await this.find(ask, conversation, after);
    if (after !== null && cursor === null) throw unknownCursor(after);
    const items = cursor === null ? [] : [...itemsAfter(cursor, order)];
    let chars = 0;
    for await (const row of this.#turns(ask, conversation, { from: cursor?.row.pos ?? null, order })) {
      const turn = await runSliced(readStoredTurn(row), ask.signal);
      append(items, ordered(visibleItems(row.key, turn), order));
      chars += row.body.length;
      // One more than asked for says whether there are more.
      if (items.length > limit) break;
      if (chars > MAX_PAGE_CHARS && items.length > 1) return cut(items, items.length - 1);
    }
    return cut(items, limit);
  }

  async *#turns(
    { caller, signal, onBytes }: LoadAsk,
    conversation: string,
    start: Pick<Parameters<StateStore['turns']['page']>[2], 'from' | 'order'>,
  ): AsyncGenerator<TurnRow> {
    for (let { from } = start, limit = FIRST_TURNS; ;) {
      const page = { ...start, from, limit, maxChars: READ_CHARS };
      const rows = await this.#store.turns.page(caller, conversation, page);
      if (rows.length === 0) return;
      for (const row of rows) {
        onBytes(row.body.length);
        await yieldToLoop(signal);
        yield row;
        from = row.pos;
      }
      limit = Math.min(2 * limit, MAX_TURNS);
    }
  }
}

const cut = (items: readonly StoredItem[], limit: number): ItemPage => ({
  items: items.slice(0, limit),
  hasMore: items.length > limit,
});

/** The items of the same turn that follow in this order. */
const itemsAfter = ({ id, row, turn }: FoundItem, order: ItemQuery['order']): readonly StoredItem[] => {
  const all = ordered(storedItems(row.key, turn), order);
  const rest = all.slice(all.findIndex((one) => one.id === id) + 1);
  const hidden = new Set(turn.hidden);
  return rest.filter((one) => !hidden.has(one.id));
};

const ordered = <One>(oldestFirst: readonly One[], order: ItemQuery['order']): readonly One[] =>
  order === 'asc' ? oldestFirst : oldestFirst.toReversed();

const unknownCursor = (id: string) =>
  gatewayError('invalid_value', {
    param: 'after',
    message: `Invalid 'after': the list has no item with id '${quoted(id)}'.`,
  });
