import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Item } from '../../../canonical/request/item.ts';
import { quoted } from '../../../kit/text/quote.ts';
import { isPlaceholderId } from '../output/placeholder.ts';

/** Finds the item of an earlier answer by its id; null: it is not known. */
export type Recall = (id: string) => Item | null;

/** Resolves the item references of one request. */
export class References {
  readonly #recall: Recall;
  readonly #seen = new Set<string>();

  constructor(recall: Recall) {
    this.#recall = recall;
  }

  /**
   * The item, or why there is none: a `placeholder` has no content. Reasoning that is `lost` costs the model
   * its earlier thoughts, but the conversation is still whole. Throws for any other unknown item.
   */
  resolve(id: string, at: string): Item | 'placeholder' | 'lost' {
    if (isPlaceholderId(id)) return 'placeholder';
    // Each item once: else a small body could make a request of any size.
    if (this.#seen.has(id)) {
      throw gatewayError('invalid_value', {
        param: at,
        message: `Duplicate item found with id ${quoted(id)} at '${at}'. Remove duplicate items from your input and try again.`,
      });
    }
    this.#seen.add(id);
    const item = this.#recall(id);
    if (item !== null) return item;
    if (id.startsWith('rs_')) return 'lost';
    throw gatewayError('unsupported_value', {
      param: at,
      message: `Item with id ${quoted(id)} not found at '${at}': items are not stored; only those of answers of the last hour are kept in memory. Send the item itself (clients do so with 'store: false').`,
    });
  }
}
