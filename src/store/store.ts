/**
 * The port for everything that is kept between requests. Its methods know rows and texts, not APIs: a `body` is JSON that
 * only the caller reads. Every row belongs to an owner, the id of an API key, and a row of another owner is as unknown
 * as one that never was. Rows past their `expiresAt` are unknown too. Every method is one transaction.
 *
 * Rejects with a `GatewayError`: `store_unavailable` if the database cannot do what was asked within its time limit, and
 * `store_corrupt` if a row cannot be read. A write that was rejected as `store_unavailable` may have happened. To send
 * `turns.commit`, `events.append` or `memory.put` again with the same arguments is safe. The parts of features are here too:
 * `partOf` finds one.
 */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  readonly memory: MemoryStore;
  readonly kept: KeptStore;
  /**
   * Called with the id of each response that changed. `*`: any may have changed, because the connection to the database
   * was lost for a while. It may be called when nothing changed. Returns a function that stops it.
   */
  watch(onChange: OnChange): () => void;
  /** Deletes some expired rows, at most `limit` of each kind. Returns how many it looked at; 0: nothing is left to do. */
  sweep(limit: number): Promise<number>;
  close(): Promise<void>;
}

export type OnChange = (responseId: string, what: ResponseChange) => void;

/**
 * It has new events, or something else of it changed: its status, or it was deleted. `key`: no response, but an announcement
 * of a feature about a key.
 */
export type ResponseChange = 'events' | 'status' | 'key';

/** How much is kept for each API key. */
export interface KeptStore {
  /**
   * The bytes of everything that belongs to the key in tables that are counted (`countKept`), as they are stored. Expired
   * rows count until the sweep has deleted them.
   */
  bytes(owner: string): Promise<number>;
}

/** Small values by key that all instances share. Losing one, as by a power failure, costs time or money, never content. */
export interface MemoryStore {
  /** The known values. */
  get(kind: MemoryKind, keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  put(kind: MemoryKind, key: string, value: string, expiresAt: number): Promise<void>;
  /** Keeps the value that the key has, and its longer time; else this one. Returns the value that is kept. */
  claim(kind: MemoryKind, key: string, value: string, expiresAt: number): Promise<string>;
  drop(kind: MemoryKind, keys: readonly string[]): Promise<void>;
}

/**
 * `cache-id`: the id of a conversation at the backend. `reasoning`: what a client cannot send back. `signature-key`: signs
 * what a client can send back. `console-session`: who is signed in to the console. The table has one more row, of the kind
 * `store-check`, which shows the current key.
 */
export type MemoryKind = 'cache-id' | 'reasoning' | 'signature-key' | 'console-session';
