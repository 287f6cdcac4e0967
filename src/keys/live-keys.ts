import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import type { Clock } from '../kit/ambient.ts';
import { pause } from '../kit/async/pause.ts';
import { WriteQueue } from '../kit/async/write-queue.ts';
import type { KeyChanges, KeyStore } from '../store/ports/keys.ts';
import { HeldKeys, type HeldKeysOptions } from './held-keys.ts';
import { MAX_KEYS, type ApiKey } from './key.ts';
import type { KeyDirectory } from './key-directory.ts';
import { KeyMemory, type LoadedKey } from './key-memory.ts';
import { hashOf } from './key-secret.ts';
import { refusalFor } from './key-refusal.ts';

export interface LiveKeysOptions {
  readonly store: Pick<KeyStore, 'changedSince' | 'used'>;
  readonly clock: Clock;
  /** Called once when a trouble begins: the keys cannot be read, or their last uses not be written. */
  readonly onTrouble: (error: unknown) => void;
  /** What happens to changes that cannot be written. */
  readonly held: HeldKeysOptions;
  /** For tests. */
  readonly pollMs?: number;
}

/** How soon changes by other processes are seen, at the latest. */
const POLL_MS = 2_000;
/** Unknown keys cause at most one question to the database in this time. */
const REFRESH_MS = 250;
/** Without the database, known keys work for so long: later it may be unknown for too long that one was revoked. */
const MAX_AGE_MS = 60 * 60_000;
/** Ids that this server gives to named keys; those of configured keys are shorter. */
const NAMED_ID = /^key_[0-9a-f]{32}$/;

/** The named keys in memory. Other processes may change them: they are read again and again, as far as they changed. */
export class LiveKeys implements KeyDirectory {
  readonly #options: LiveKeysOptions;
  readonly #stopped = new AbortController();
  readonly #uses: KeyUses;
  /** Changes that the database does not have yet. */
  readonly held: HeldKeys;
  #memory = new KeyMemory();
  #version = 0;
  /** The last question to the database. */
  #last: Promise<void> = Promise.resolve();
  /** A question for unknown keys that has not been sent yet, and when the one before was. */
  #next: Promise<void> | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When the database was first found to be away; null: it answers. */
  #lostAt: number | null = null;
  #polling: Promise<void> = Promise.resolve();
  #isInTrouble = false;

  private constructor(options: LiveKeysOptions) {
    this.#options = options;
    this.#uses = new KeyUses(options, (error) => this.#noteTrouble(error));
    this.held = new HeldKeys(options.held);
  }

  /** Reads all keys. Rejects if it cannot. */
  static async open(options: LiveKeysOptions): Promise<LiveKeys> {
    const keys = new LiveKeys(options);
    await keys.changed();
    keys.#polling = keys.#poll();
    return keys;
  }

  byId(keyId: string): ApiKey | null {
    const key = this.#memory.byId(keyId)?.key ?? null;
    return key === null ? null : this.held.apply(key);
  }

  refusalOf(keyId: string): GatewayError | null {
    const key = this.byId(keyId);
    if (key !== null) return this.#staleness() ?? refusalFor(key, this.#options.clock.now());
    // It was revoked long ago, and has made room for another one.
    return NAMED_ID.test(keyId) ? gatewayError('key_revoked') : null;
  }

  /** The key with this secret; null: none that is known here. Throws if it cannot be used now. */
  bySecret(secret: string): LoadedKey | null {
    const found = this.#memory.byHash(hashOf(secret));
    if (found === null) return null;
    const { loaded, expiresAt } = found;
    const now = this.#options.clock.now();
    const refusal = this.#staleness() ?? refusalFor(this.held.apply(loaded.key), now);
    if (refusal !== null) throw refusal;
    if (expiresAt !== null && expiresAt <= now) {
      throw gatewayError('key_expired', {
        message: 'This API key was rotated, and the time to replace it is over. Use the new one.',
      });
    }
    return loaded;
  }

  /** What another instance announced, in the form `id:what`. */
  heard(announcement: string): void {
    const [id = '', what] = announcement.split(':');
    if (what === 'resumed' && this.held.isPaused(id)) this.held.release(id);
    if (this.byId(id) === null || (what !== 'paused' && what !== 'revoked')) return;
    this.held.hold(id, what, this.#options.clock.now());
  }

  /** The key was used now. */
  used(keyId: string): void {
    this.#uses.note(keyId);
  }

  /**
   * Resolves when every change before this call is known. Calls at the same time share one question to the database, and
   * there are few of them: a client with a wrong key can call this as often as it likes. Rejects if the database does not
   * answer.
   */
  refresh(): Promise<void> {
    this.#next ??= this.#readNext();
    return this.#next;
  }

  async #readNext(): Promise<void> {
    try {
      const waitMs = Math.max(0, this.#askedAt + REFRESH_MS - performance.now());
      await pause(waitMs, this.#stopped.signal);
    } finally {
      this.#next = null;
    }
    this.#askedAt = performance.now();
    await this.changed();
  }

  /** The same at once, for changes by this process. */
  changed(): Promise<void> {
    // One after the other, so that a late answer does not undo a newer one.
    this.#last = this.#last.catch(() => undefined).then(() => this.#read());
    return this.#last;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#polling;
    await this.held.close();
    await this.#uses.close();
  }

  #staleness(): GatewayError | null {
    const lostAt = this.#lostAt;
    return lostAt === null || this.#options.clock.now() - lostAt <= MAX_AGE_MS
      ? null
      : gatewayError('store_unavailable', {
          message: 'The database of this server has been unavailable for too long to check this key.',
        });
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopped;
    const { pollMs = POLL_MS } = this.#options;
    while (!signal.aborted) {
      try {
        await pause(pollMs, signal);
        await this.changed();
        this.#isInTrouble = false;
      } catch (error) {
        if (!signal.aborted) this.#noteTrouble(error);
      }
    }
  }

  #noteTrouble(error: unknown): void {
    if (!this.#isInTrouble) this.#options.onTrouble(error);
    this.#isInTrouble = true;
  }

  async #read(): Promise<void> {
    const changes = await this.#changedSince(this.#version);
    this.#memory.apply(changes);
    for (const row of changes.keys) this.held.read(row);
    const isRestored = changes.version < this.#version;
    this.#version = changes.version;
    // A backup was restored, or the store has deleted keys to make room for others.
    if (isRestored || this.#memory.size > MAX_KEYS) await this.#readAll();
  }

  async #readAll(): Promise<void> {
    const all = await this.#changedSince(0);
    const memory = new KeyMemory();
    memory.apply(all);
    this.#memory = memory;
    this.#version = all.version;
  }

  async #changedSince(version: number): Promise<KeyChanges> {
    const { store, clock } = this.#options;
    try {
      const changes = await store.changedSince(version);
      this.#lostAt = null;
      return changes;
    } catch (error) {
      this.#lostAt ??= clock.now();
      throw error;
    }
  }
}

interface KeyUse {
  readonly id: string;
  readonly at: number;
}

/** The last use of a key is written once in this time. */
const USE_EVERY_MS = 60_000;
const USES_PER_WRITE = 500;
const CLOSE_MS = 2_000;

/** When keys were used last. Requests only note it; it is written later, for many keys at once. */
class KeyUses {
  readonly #clock: Clock;
  readonly #queue: WriteQueue<KeyUse>;
  /** Uses so soon after the last one that they are written only at the end. */
  readonly #early = new Map<string, KeyUse>();
  readonly #dueAt = new Map<string, number>();

  constructor({ store, clock, pollMs = POLL_MS }: LiveKeysOptions, onTrouble: (error: unknown) => void) {
    this.#clock = clock;
    this.#queue = new WriteQueue({
      write: (uses) => store.used(uses),
      delayMs: pollMs,
      perWrite: USES_PER_WRITE,
      // There are no more than keys.
      max: Infinity,
      retries: () => true,
      onError: onTrouble,
    });
  }

  note(id: string): void {
    const at = this.#clock.now();
    if (at < (this.#dueAt.get(id) ?? 0)) {
      this.#early.set(id, { id, at });
    } else {
      this.#early.delete(id);
      this.#dueAt.set(id, at + USE_EVERY_MS);
      this.#queue.put(id, { id, at });
    }
  }

  async close(): Promise<void> {
    for (const use of this.#early.values()) this.#queue.put(use.id, use);
    await this.#queue.close(CLOSE_MS);
  }
}
