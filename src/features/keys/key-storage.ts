import type { GatewayError } from '../../canonical/failure/failure.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';
import type { KeptStore } from '../../store/store.ts';
import { keyError } from './failures.ts';
import type { KeyDirectory } from './key.ts';

/** How much is kept for a key, as the API shows it. */
export interface StorageStatus {
  readonly used_bytes: number;
  /** Null: no limit. */
  readonly max_bytes: number | null;
}

export interface KeyStorageDeps {
  readonly directory: Pick<KeyDirectory, 'byId'>;
  readonly store: KeptStore;
  /** For keys without a limit of their own; 0: none. */
  readonly defaultMb: number;
}

const MB = 1024 * 1024;

/** More than the requests that run at one time can add: with so much room, a request need not wait for the database. */
const AMPLE_BYTES = 1024 * MB;

/** More than there are keys. */
const MAX_KNOWN = 20_000;

/** Holds keys to how much is kept for them. */
export class KeyStorage {
  readonly #deps: KeyStorageDeps;
  /** The bytes of each key as they were read last. */
  readonly #known = new Map<string, number>();
  readonly #reading = new Map<string, Promise<number>>();

  constructor(deps: KeyStorageDeps) {
    this.#deps = deps;
  }

  /**
   * Rejects with 429 if nothing more is kept for the key. It is asked before the model is, and what was accepted is kept:
   * requests at the same time can exceed the limit by what the server holds in memory for them. Every stored response asks, so a
   * request with ample room does not wait for the database.
   */
  async check(keyId: string): Promise<void> {
    const maxBytes = this.#maxBytes(keyId);
    if (maxBytes === null) return;
    const known = this.#known.get(keyId) ?? Infinity;
    const reading = this.#reading.get(keyId);
    const next = reading ?? this.#read(keyId);
    // At most one request of the key passes by what was known before this read.
    if (reading === undefined && maxBytes - known >= AMPLE_BYTES) return;
    const used = await next;
    if (used >= maxBytes) throw storageRefusal(used, maxBytes);
  }

  async statusOf(keyId: string): Promise<StorageStatus> {
    return { used_bytes: await this.#deps.store.bytes(keyId), max_bytes: this.#maxBytes(keyId) };
  }

  #read(keyId: string): Promise<number> {
    const reading = this.#deps.store
      .bytes(keyId)
      .then((used) => {
        this.#known.delete(keyId);
        this.#known.set(keyId, used);
        forgetOldest(this.#known, MAX_KNOWN);
        return used;
      })
      // Without the database nothing is kept, and the write fails by itself.
      .catch(() => 0)
      .finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }

  #maxBytes(keyId: string): number | null {
    const mb = this.#deps.directory.byId(keyId)?.storageMb ?? this.#deps.defaultMb;
    return mb === 0 ? null : mb * MB;
  }
}

const storageRefusal = (used: number, maxBytes: number): GatewayError =>
  keyError('storage_limit_exceeded', {
    message: `This server keeps at most ${maxBytes / MB} MB for this key, and ${(used / MB).toFixed(1)} MB are used. Delete stored responses, conversations or chat completions, or wait until they expire. Requests with "store": false still work, outside of conversations.`,
    more: { storage: { used_bytes: used, max_bytes: maxBytes } },
  });
