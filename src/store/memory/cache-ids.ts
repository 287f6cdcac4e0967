import type { Clock } from '../../kit/ambient.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';
import type { MemoryStore } from '../store.ts';
import type { MemoryAccess } from './memory-access.ts';

export interface CacheIdsOptions {
  /** Null: ids are in memory only. */
  readonly store: SharedIds | null;
  /** Number of recently used conversations in memory. */
  readonly max?: number;
  readonly clock: Clock;
  readonly mint: () => string;
}

export interface SharedIds {
  readonly memory: MemoryStore;
  readonly access: MemoryAccess;
  /** Since the conversation was last used. */
  readonly ttlMs: number;
}

interface KnownId {
  readonly id: string;
  /** When the id is claimed again, because its conversation is still in use. */
  readonly claimAt: number;
}

const MAX_KNOWN = 10_000;
/** Claims without an answer; beyond that, the next turn of a conversation tries again. */
const MAX_CLAIMS = 1_000;
const RETRY_MS = 60_000;

/**
 * The backend's id of each conversation: the same for all its turns at one account, after a restart and on every instance that
 * shares the store. Only the first turn that an instance sees of a conversation waits for the store.
 */
export class CacheIds {
  readonly #options: CacheIdsOptions;
  /** In order of last use. */
  readonly #known = new Map<string, KnownId>();
  readonly #finding = new Map<string, Promise<string>>();
  readonly #claims = new Set<Promise<void>>();

  constructor(options: CacheIdsOptions) {
    this.#options = options;
  }

  /** The ids for one backend and account: a conversation that moves to another one has another id there. */
  of(origin: string): Pick<CacheIds, 'idOf'> {
    return { idOf: (conversation) => this.idOf(`${conversation} ${origin}`) };
  }

  /** Creates an id for an unknown conversation. Never rejects. */
  async idOf(conversation: string): Promise<string> {
    const id = this.#known.get(conversation)?.id ?? (await this.#find(conversation));
    const { claimAt = 0 } = this.#known.get(conversation) ?? {};
    this.#known.delete(conversation);
    this.#known.set(conversation, { id, claimAt });
    forgetOldest(this.#known, this.#options.max ?? MAX_KNOWN);
    if (this.#options.clock.now() >= claimAt) this.#claim(conversation, id);
    return id;
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    await Promise.all(this.#claims);
  }

  /** Concurrent turns of a conversation get the same id. */
  #find(conversation: string): Promise<string> {
    const begun = this.#finding.get(conversation);
    if (begun !== undefined) return begun;
    const finding = this.#stored(conversation).finally(() => this.#finding.delete(conversation));
    this.#finding.set(conversation, finding);
    return finding;
  }

  async #stored(conversation: string): Promise<string> {
    const { store, mint } = this.#options;
    if (store === null) return mint();
    const found = await store.access.read(() => store.memory.get('cache-id', [conversation]));
    return found?.get(conversation) ?? mint();
  }

  /** Writes the id while the turn runs. If another instance was faster, its id is used from the next turn on. */
  #claim(conversation: string, id: string): void {
    const { store, clock } = this.#options;
    if (store === null || this.#claims.size >= MAX_CLAIMS) return;
    const { memory, access, ttlMs } = store;
    const now = clock.now();
    this.#known.set(conversation, { id, claimAt: now + Math.max(ttlMs / 2, RETRY_MS) });
    const claim = (async () => {
      const kept = await access.write(() => memory.claim('cache-id', conversation, id, now + ttlMs));
      const known = this.#known.get(conversation);
      if (known === undefined || kept === id) return;
      // Map.set on a known key does not change its place.
      this.#known.set(
        conversation,
        kept === null ? { ...known, claimAt: now + RETRY_MS } : { ...known, id: kept },
      );
    })().finally(() => this.#claims.delete(claim));
    this.#claims.add(claim);
  }
}
