import { failure, GatewayError } from '../canonical/failure/failure.ts';
import type { KeptStore } from '../store/ports/kept.ts';
import type { KeyDirectory } from './key-directory.ts';

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

/** Holds keys to how much is kept for them. */
export class KeyStorage {
  readonly #deps: KeyStorageDeps;

  constructor(deps: KeyStorageDeps) {
    this.#deps = deps;
  }

  /**
   * Rejects with 429 if nothing more is kept for the key. It is asked before the model is, and what was accepted is kept:
   * requests at the same time can exceed the limit by what the server holds in memory for them.
   */
  async check(keyId: string): Promise<void> {
    const maxBytes = this.#maxBytes(keyId);
    if (maxBytes === null) return;
    // Without the database nothing is kept, and the write fails by itself.
    const used = await this.#deps.store.bytes(keyId).catch(() => 0);
    if (used >= maxBytes) throw storageRefusal(used, maxBytes);
  }

  async statusOf(keyId: string): Promise<StorageStatus> {
    return { used_bytes: await this.#deps.store.bytes(keyId), max_bytes: this.#maxBytes(keyId) };
  }

  #maxBytes(keyId: string): number | null {
    const mb = this.#deps.directory.byId(keyId)?.storageMb ?? this.#deps.defaultMb;
    return mb === 0 ? null : mb * MB;
  }
}

const storageRefusal = (used: number, maxBytes: number): GatewayError =>
  new GatewayError(
    failure('storage_limit_exceeded', {
      message: `This server keeps at most ${Math.floor(maxBytes / MB)} MB for this key, and ${Math.ceil(used / MB)} MB are used. Delete stored responses, conversations or chat completions, or wait until they expire. Requests with "store": false still work, outside of conversations.`,
      more: { storage: { used_bytes: used, max_bytes: maxBytes } },
    }),
  );
