import type { Item, Produced } from '../canonical/request/item.ts';
import type { Clock } from '../kit/ambient.ts';
import { bytesOfText, FairCache } from '../kit/collections/fair-cache.ts';
import { isRandomId } from '../kit/random-id.ts';

/** The items of one caller. */
export interface ItemMemory {
  remember(item: Produced): void;
  /** Null: unknown, expired, or another caller's item. */
  recall(id: string): Item | null;
  forget(id: string): void;
}

export interface RecentItemsOptions {
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
