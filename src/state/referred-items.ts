import { gatewayError } from '../canonical/failure/failure.ts';
import type { Item, Produced } from '../canonical/request/item.ts';
import { isRandomId } from '../kit/random-id.ts';
import type { Store, TurnRow } from '../store/store.ts';
import type { RecentItems } from './recent-items.ts';
import type { StateAsk } from '../turns/turn-state.ts';
import { readInputItemId } from './input-item-id.ts';
import { readTurn, storedItems } from './stored-turn.ts';

/** The items that requests refer to by id. */
export interface ReferredItems {
  /** Those that are known. */
  load(ask: Pick<StateAsk, 'caller' | 'onBytes'>, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
  remember(caller: string, item: Produced): void;
  /** Those that were deleted. */
  forget(caller: string, ids: readonly string[]): void;
}

/** `recent`: in memory, in front of the store. */
export const createReferredItems = (
  store: Pick<Store, 'turns'>,
  recent: Pick<RecentItems, 'of'>,
): ReferredItems => ({
  async load({ caller, onBytes }, ids) {
    const memory = recent.of(caller, (_, bytes) => onBytes(bytes));
    const found = new Map<string, Item>();
    const missing: string[] = [];
    for (const id of ids) {
      const item = memory.recall(id);
      if (item === null) missing.push(id);
      else found.set(id, item);
    }
    for (const [id, row] of await turnsWith(store, caller, missing)) {
      onBytes(row.body.length);
      const item = storedItems(row.key, readTurn(row)).find((one) => one.id === id)?.item;
      if (item !== undefined) found.set(id, item);
    }
    return found;
  },
  remember: (caller, item) => recent.of(caller, () => {}).remember(item),
  forget(caller, ids) {
    const memory = recent.of(caller, () => {});
    for (const id of ids) memory.forget(id);
  },
});

/** Input items are found by the turn in their id, output items by the index. */
const turnsWith = async (
  { turns }: Pick<Store, 'turns'>,
  owner: string,
  ids: readonly string[],
): Promise<readonly (readonly [string, TurnRow])[]> => {
  if (ids.length > MAX_STORED) {
    throw gatewayError('invalid_value', {
      param: 'input',
      message: `Invalid 'input': at most ${MAX_STORED} items of the store can be referred to. Send the items themselves.`,
    });
  }
  const named = new Map(ids.flatMap((id) => mapped(id, readInputItemId(id)?.turnKey)));
  // An id reused in every conversation would return another conversation's item.
  const others = ids.filter((id) => !named.has(id) && isRandomId(id));
  const keys = [...new Set(named.values())];
  const [byItem, byKey] = await Promise.all([
    others.length === 0 ? new Map<string, TurnRow>() : turns.byItems(owner, others),
    Promise.all(keys.map(async (key) => [key, await turns.byKey(owner, key)] as const)),
  ]);
  const rows = new Map(byKey);
  return [...byItem, ...[...named].flatMap(([id, key]) => mapped(id, rows.get(key) ?? undefined))];
};

const MAX_STORED = 1_000;

const mapped = <Value>(key: string, value: Value | undefined): readonly (readonly [string, Value])[] =>
  value === undefined ? [] : [[key, value]];
