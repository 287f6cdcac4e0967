import type { KeyChanges } from '../store/ports/keys.ts';
import { parseRange, type AddressRange } from './address.ts';
import type { Caller } from './caller.ts';
import type { ApiKey } from './key.ts';
import { keyOf } from './key-body.ts';

/** A key with what every request needs of it, made once. */
export interface LoadedKey {
  readonly key: ApiKey;
  readonly caller: Caller;
  /** Empty: any address. */
  readonly ranges: readonly AddressRange[];
}

interface LoadedSecret {
  readonly loaded: LoadedKey;
  /** Null: with its key. */
  readonly expiresAt: number | null;
}

/** All named keys and the hashes of their secrets. */
export class KeyMemory {
  readonly #keys = new Map<string, LoadedKey>();
  readonly #secrets = new Map<string, LoadedSecret>();
  readonly #hashes = new Map<string, readonly string[]>();

  get size(): number {
    return this.#keys.size;
  }

  byId(id: string): LoadedKey | null {
    return this.#keys.get(id) ?? null;
  }

  byHash(hash: string): LoadedSecret | null {
    return this.#secrets.get(hash) ?? null;
  }

  /** Replaces the keys that changed, and all of their secrets. */
  apply({ keys, secrets }: KeyChanges): void {
    for (const row of keys) {
      for (const hash of this.#hashes.get(row.id) ?? []) this.#secrets.delete(hash);
      this.#hashes.delete(row.id);
      this.#keys.set(row.id, load(keyOf(row)));
    }
    for (const { keyId, hash, expiresAt } of secrets) {
      const loaded = this.#keys.get(keyId);
      if (loaded === undefined) continue;
      this.#secrets.set(hash, { loaded, expiresAt });
      this.#hashes.set(keyId, [...(this.#hashes.get(keyId) ?? []), hash]);
    }
  }
}

const load = (key: ApiKey): LoadedKey => ({
  key,
  caller: { keyId: key.id, scopes: new Set(key.scopes) },
  ranges: key.addresses.flatMap((text) => {
    const range = parseRange(text);
    if (range === null) throw new Error(`the key ${key.id} has an address that cannot be read`);
    return [range];
  }),
});
