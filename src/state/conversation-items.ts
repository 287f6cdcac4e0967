import { gatewayError } from '../canonical/failure/failure.ts';
import { runSliced, yieldToLoop } from '../kit/async/event-loop.ts';
import { append } from '../kit/collections/append.ts';
import { isRandomId } from '../kit/random-id.ts';
import { quoted } from '../kit/text/quote.ts';
import type { Store, TurnRow } from '../store/store.ts';
import type { LoadLimits } from './chains.ts';
import { readInputItemId } from './input-item-id.ts';
import { readTurn, storedItems, visibleItems, type StoredItem, type StoredTurn } from './stored-turn.ts';

export interface ItemQuery {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** The id of the item before the page; null: the page is the first one. */
  readonly after: string | null;
}

export interface ItemPage {
  readonly items: readonly StoredItem[];
  readonly hasMore: boolean;
}

/** An item of a conversation, and the turn that has it. */
export interface FoundItem extends StoredItem {
  readonly row: TurnRow;
  readonly turn: StoredTurn;
  /** Whether it was deleted. */
  readonly isHidden: boolean;
}

export type LoadAsk = LoadLimits & { readonly caller: string };

/** Turns that are read at once. */
const FIRST_TURNS = 4;
const MAX_TURNS = 32;
const READ_CHARS = 4 * 1024 * 1024;
/** A page ends early beyond so many characters of turns. */
const MAX_PAGE_CHARS = 16 * 1024 * 1024;

/** Reads the items of conversations, turn by turn. */
export class ConversationItems {
  readonly #store: Pick<Store, 'turns'>;

  constructor(store: Pick<Store, 'turns'>) {
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
    const turn = await runSliced(readTurn(row), signal);
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
      const turn = await runSliced(readTurn(row), ask.signal);
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
    start: Pick<Parameters<Store['turns']['page']>[2], 'from' | 'order'>,
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
