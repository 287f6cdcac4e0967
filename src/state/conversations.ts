import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import type { Item } from '../canonical/request/item.ts';
import { runSliced } from '../kit/async/event-loop.ts';
import type { Ambient } from '../kit/ambient.ts';
import { quoted } from '../kit/text/quote.ts';
import type { ConversationRow, NewTurn, Store } from '../store/store.ts';
import { newConversationId } from './conversation-id.ts';
import { ConversationItems, type ItemPage, type ItemQuery, type LoadAsk } from './conversation-items.ts';
import { unknownConversation, type ConversationLocks, type LockAsk } from './conversation-locks.ts';
import { printed } from './print-body.ts';
import { conversationBody, readConversation, type Metadata } from './stored-conversation.ts';
import { isCorrupt, readTurn, storedItems, turnBody, type StoredItem } from './stored-turn.ts';

export interface Conversation {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly metadata: Metadata;
}

export interface ConversationsDeps {
  readonly store: Pick<Store, 'turns' | 'conversations'>;
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
        const turn = await runSliced(readTurn(found.row), ask.signal);
        const body = await printed(
          turnBody({ ...turn, hidden: [...(turn.hidden ?? []), itemId] }),
          ask.signal,
        );
        if (!(await this.#deps.store.turns.rewrite(ask.caller, found.row, body))) continue;
        // Other processes see by an empty turn that the conversation changed.
        await this.#addTurn(ask, id, []);
        return shown(row);
      }
      throw gatewayError('conversation_locked', { param: 'conversation' });
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
