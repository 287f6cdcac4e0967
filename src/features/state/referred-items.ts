import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Item, Produced } from '../../canonical/request/item.ts';
import type { Clock } from '../../kit/ambient.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { bytesOfText, FairCache } from '../../kit/collections/fair-budget.ts';
import { isRandomId } from '../../kit/text/patterns.ts';
import type { TurnRow, StateStore } from './store/port.ts';
import type { StateAsk } from '../../turns/turn-state.ts';
import { readInputItemId, readStoredTurn, storedItems } from './stored-turn.ts';

/** The items that requests refer to by id. */
export interface ReferredItems {
  /** Those that are known. */
  load(
    ask: Pick<StateAsk, 'caller' | 'onBytes' | 'signal'>,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Item>>;
  remember(caller: string, item: Produced): void;
  /** Those that were deleted. */
  forget(caller: string, ids: readonly string[]): void;
}

/** `recent`: in memory, in front of the store. */
export const createReferredItems = (
  store: Pick<StateStore, 'turns'>,
  recent: Pick<RecentItems, 'of'>,
): ReferredItems => ({
  async load({ caller, onBytes, signal }, ids) {
    const memory = recent.of(caller, (_, bytes) => onBytes(bytes));
    const found = new Map<string, Item>();
    const missing: string[] = [];
    for (const id of ids) {
      const item = memory.recall(id);
      if (item === null) missing.push(id);
      else found.set(id, item);
    }
    for await (const [row, referred] of turnsWith(store, caller, missing)) {
      onBytes(row.body.length);
      const wanted = new Set(referred);
      const turn = await runSliced(readStoredTurn(row), signal);
      for (const { id, item } of storedItems(row.key, turn)) if (wanted.has(id)) found.set(id, item);
    }
    return found;
  },
  remember: (caller, item) => recent.of(caller, () => {}).remember(item),
  forget(caller, ids) {
    const memory = recent.of(caller, () => {});
    for (const id of ids) memory.forget(id);
  },
});

/** Turns and the ids of their items. Some at a time, because each may have megabytes. */
type TurnsWithItems = AsyncGenerator<readonly [TurnRow, readonly string[]]>;

/** Input items are found by the turn in their id, output items by the index. */
async function* turnsWith(
  { turns }: Pick<StateStore, 'turns'>,
  owner: string,
  ids: readonly string[],
): TurnsWithItems {
  if (ids.length > MAX_STORED) {
    throw gatewayError('invalid_value', {
      param: 'input',
      message: `Invalid 'input': at most ${MAX_STORED} items of the store can be referred to. Send the items themselves.`,
    });
  }
  const named = Map.groupBy(ids, (id) => readInputItemId(id)?.turnKey ?? null);
  // An id reused in every conversation would return another conversation's item.
  const indexed = new Set((named.get(null) ?? []).filter(isRandomId));
  while (indexed.size > 0) {
    const found = await turns.byItems(owner, [...indexed], READ_CHARS);
    if (found.size === 0) break;
    for (const id of found.keys()) indexed.delete(id);
    for (const [row, entries] of Map.groupBy(found, ([, of]) => of)) yield [row, entries.map(([id]) => id)];
  }
  const keys = new Set([...named.keys()].filter((key) => key !== null));
  while (keys.size > 0) {
    const rows = await turns.byKeys(owner, [...keys], READ_CHARS);
    if (rows.length === 0) break;
    for (const row of rows) {
      keys.delete(row.key);
      yield [row, named.get(row.key) ?? []];
    }
  }
}

const READ_CHARS = 4 * 1024 * 1024;
const MAX_STORED = 1_000;

/** The items of one caller. */
interface ItemMemory {
  remember(item: Produced): void;
  /** Null: unknown, expired, or another caller's item. */
  recall(id: string): Item | null;
  forget(id: string): void;
}

interface RecentItemsOptions {
  /** 0 keeps nothing. */
  readonly maxBytes: number;
  /** From when an item was written. It must not outlive its row in the store. */
  readonly maxAgeMs: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
}

/**
 * Items of recent answers by id, in memory only. Clients that leave `store` at its default send an
 * `item_reference` in place of the item itself.
 */
export class RecentItems {
  readonly #cache: FairCache<Item>;

  constructor(options: RecentItemsOptions) {
    this.#cache = new FairCache(options);
  }

  /** `onRecalled` receives each item that a request refers to: it counts like the body. */
  of(caller: string, onRecalled: (item: Item, bytes: number) => void): ItemMemory {
    const cache = this.#cache;
    const keyOf = (id: string): string => JSON.stringify([caller, id]);
    return {
      remember(item) {
        // An id reused in every conversation would return another conversation's item.
        if (!isRandomId(item.id)) return;
        const key = keyOf(item.id);
        cache.add({ holder: caller, keys: [key], value: item, bytes: bytesOfItem(item) + bytesOfText(key) });
      },
      recall(id) {
        const found = cache.get(keyOf(id));
        if (found === undefined) return null;
        onRecalled(found.value, found.bytes);
        return found.value;
      },
      forget(id) {
        cache.drop(keyOf(id));
        cache.settle();
      },
    };
  }
}

/** Approximate overhead of an object or field. */
const VALUE_BYTES = 48;

/** Iterative, because the backend decides how deep its items are nested. */
const bytesOfItem = (item: Item): number => {
  let bytes = 0;
  const rest: unknown[] = [item];
  while (rest.length > 0) {
    const value = rest.pop();
    bytes += VALUE_BYTES;
    if (typeof value === 'string') bytes += bytesOfText(value);
    else if (typeof value === 'object' && value !== null) {
      for (const part of Object.values(value)) rest.push(part);
    }
  }
  return bytes;
};
