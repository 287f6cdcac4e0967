import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Item, Reasoning } from '../../../canonical/request/item.ts';
import { quoted } from '../../../kit/text/display.ts';
import { isPlaceholderId } from '../output/layout.ts';

/** Finds an item of an earlier answer by its id; null if unknown. */
export type Recall = (id: string) => Item | null;

/** Resolves the item references of one request. */
export class References {
  readonly #recall: Recall | null;
  readonly #list: string;
  readonly #seen = new Set<string>();

  /** `recall` null: nothing is stored. `list`: the name of the list in the body. */
  constructor(recall: Recall | null, list = 'input') {
    this.#recall = recall;
    this.#list = list;
  }

  get hasStore(): boolean {
    return this.#recall !== null;
  }

  /** Returns the item; a `placeholder` has no content. Throws if the item is unknown. */
  resolve(id: string, at: string): Item | 'placeholder' {
    return isPlaceholderId(id) ? 'placeholder' : this.#find(id, at);
  }

  /** Returns reasoning that was sent without its content. Throws if it is unknown. */
  resolveReasoning(id: string, at: string): Reasoning {
    const item = this.#find(id, at);
    if (item.kind !== 'reasoning') throw this.#unknown(id);
    return item;
  }

  #find(id: string, at: string): Item {
    // Each item only once: otherwise a small body could become a request of any size.
    if (this.#seen.has(id)) throw duplicateItem(id, at, ` at '${at}'`);
    this.#seen.add(id);
    const item = this.#recall?.(id) ?? null;
    if (item === null) throw this.#unknown(id);
    return item;
  }

  #unknown(id: string): GatewayError {
    const advice = this.hasStore ? STORE_IT : SEND_IT;
    const message = `Item with id '${quoted(id)}' not found. ${advice}`;
    return gatewayError('unknown_item', { param: this.#list, message });
  }
}

const STORE_IT =
  'Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.';
const SEND_IT =
  'This server stores nothing (PROXY_STORE=off): send the item itself. Most clients do that with `store` set to false.';

/** Refuses references to items of the conversation that the request continues: the model would read them twice. */
export const recallOnce = (recall: Recall | null | undefined, chain: readonly Item[]): Recall | null => {
  if (recall === null || recall === undefined) return null;
  const known = new Set(chain.map(({ id }) => id));
  return (id) => {
    if (known.has(id)) throw duplicateItem(id, 'input');
    return recall(id);
  };
};

const duplicateItem = (id: string, param: string, where = ''): GatewayError =>
  gatewayError('invalid_value', {
    param,
    message: `Duplicate item found with id ${quoted(id)}${where}. Remove duplicate items from your input and try again.`,
  });
