/** A named API key. Unlike other rows it has no owner: it is one. */
export interface KeyRow {
  readonly id: string;
  /** The number of its last change: a later change of any key has a higher one. */
  readonly version: number;
  /** The ends of its newest secret. */
  readonly hint: string;
  readonly createdAt: number;
  /** Null: never. An expired key stays known. */
  readonly expiresAt: number | null;
  readonly pausedAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
  /** Not sealed: it has no content of conversations, and a server with a wrong key must still refuse a revoked key. */
  readonly body: string;
}

/** A secret by which a client proves to have a key. */
export interface KeySecretRow {
  readonly keyId: string;
  /** SHA-256 of the secret, as hexadecimal digits: the secret itself is never stored. */
  readonly hash: string;
  /** When it ends, after a rotation; null: with its key. */
  readonly expiresAt: number | null;
}

/** Keys that changed, and the number of the last change. */
export interface KeyChanges {
  readonly version: number;
  readonly keys: readonly KeyRow[];
  /** All secrets of these keys. */
  readonly secrets: readonly KeySecretRow[];
}

export type NewKey = Pick<KeyRow, 'id' | 'hint' | 'createdAt' | 'expiresAt' | 'body'>;

export type KeyAnnouncement = 'paused' | 'resumed' | 'revoked';

export interface KeyStore {
  /** Those with a higher version than this one; all for 0. Cheap if there are none. */
  changedSince(version: number): Promise<KeyChanges>;
  find(id: string): Promise<KeyRow | null>;
  /** The newest first. `after` is excluded; an unknown id has nothing after it. */
  list(page: { readonly after: string | null; readonly limit: number }): Promise<readonly KeyRow[]>;
  /**
   * Of more than `max` keys the one that was revoked first is deleted for good. Null: there is none, and nothing was
   * written.
   */
  create(row: NewKey, hash: string, max: number): Promise<KeyRow | null>;
  /** Null: it is unknown, or has another version by now. */
  change(
    id: string,
    ifVersion: number,
    to: Pick<KeyRow, 'expiresAt' | 'pausedAt' | 'revokedAt' | 'body'>,
  ): Promise<KeyRow | null>;
  /** Adds a secret, and ends the others at `until` at the latest. Null: the key is unknown or was revoked. */
  rotate(
    id: string,
    to: { readonly hash: string; readonly hint: string; readonly until: number },
  ): Promise<KeyRow | null>;
  /**
   * Wakes the watchers of all instances with what holds of a key, and writes nothing: with PostgreSQL that works on a full
   * disk, too. With SQLite it reaches this process only.
   */
  announce(id: string, what: KeyAnnouncement): Promise<void>;
  /** Notes when keys were used last. Not a change: the version stays. */
  used(uses: readonly { readonly id: string; readonly at: number }[]): Promise<void>;
}
