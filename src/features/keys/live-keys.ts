import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { Clock } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { pause } from '../../kit/async/wait.ts';
import { WriteQueue } from '../../kit/async/write-queue.ts';
import type { KeyChanges, KeyRow, KeyStore } from './store.ts';
import { type AddressRange, parseRange } from '../../http/guards/client-address.ts';
import type { Caller } from '../../http/guards/scopes.ts';
import { isPassing } from '../../turns/insistently.ts';
import { hashOf } from './key-secret.ts';
import { type ApiKey, type KeyDirectory, keyOfRow, MAX_KEYS, statusOf } from './key.ts';
import { keyError } from './failures.ts';

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
    return NAMED_ID.test(keyId) ? keyError('key_revoked') : null;
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
      throw keyError('key_expired', {
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
class KeyMemory {
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
      this.#keys.set(row.id, load(keyOfRow(row)));
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

/** Why a key cannot be used at this time; null: it can. Only for a caller who has a secret of the key. */
const refusalFor = (key: ApiKey, now: number): GatewayError | null => {
  const status = statusOf(key, now);
  switch (status) {
    case 'active':
      return null;
    case 'paused':
      return keyError('key_paused');
    case 'expired':
      return keyError('key_expired');
    case 'revoked':
      return keyError('key_revoked');
    default:
      return assertNever(status);
  }
};

/** What is held: a key is used no more, for now or for ever. */
export type KeyHold = 'paused' | 'revoked';

export interface HeldKeysOptions {
  /** A change could not be written, and is tried again. Called once for each change. */
  readonly onUnwritten: (id: string, hold: KeyHold, error: unknown) => void;
  readonly onWritten: (id: string, hold: KeyHold) => void;
  /** The process ends, or the change failed for another reason than the database. */
  readonly onLost: (id: string, hold: KeyHold, error: unknown) => void;
  /** For tests. */
  readonly retryMs?: number;
}

interface HeldKey {
  readonly hold: KeyHold;
  readonly at: number;
  /** Null: another process writes it, or it is being written. */
  readonly write: (() => Promise<unknown>) | null;
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 10_000;
const ENDED = new Error('the process has ended');

/**
 * Pauses and revocations that the database does not have yet, because its disk is full or it is away. They hold in memory
 * at once, and are written as soon as that works. There is at most one for each key.
 */
export class HeldKeys {
  readonly #options: HeldKeysOptions;
  readonly #held = new Map<string, HeldKey>();
  readonly #stopped = new AbortController();
  #writing: Promise<void> | null = null;

  constructor(options: HeldKeysOptions) {
    this.#options = options;
  }

  /** The key as it may be used now. */
  apply(key: ApiKey): ApiKey {
    const held = this.#held.get(key.id);
    if (held === undefined) return key;
    return held.hold === 'revoked'
      ? { ...key, revokedAt: key.revokedAt ?? held.at }
      : { ...key, pausedAt: key.pausedAt ?? held.at };
  }

  has(id: string): boolean {
    return this.#held.has(id);
  }

  isPaused(id: string): boolean {
    return this.#held.get(id)?.hold === 'paused';
  }

  /** Until a newer row is read, or it is released. Only a revocation replaces what is held already. */
  hold(id: string, hold: KeyHold, at: number): void {
    const held = this.#held.get(id)?.hold;
    if (held === undefined || (held === 'paused' && hold === 'revoked')) {
      this.#held.set(id, { hold, at, write: null });
    }
  }

  /** Writes what is held when the database can be written again. */
  writeLater(id: string, write: () => Promise<unknown>, error: unknown): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.set(id, { ...held, write });
    this.#options.onUnwritten(id, held.hold, error);
    this.#writing ??= this.#writeAll();
  }

  release(id: string): void {
    this.#held.delete(id);
  }

  /** A newer row of a key was read. It has the changes of another process, except a revocation that is not written yet. */
  read({ id, revokedAt }: Pick<KeyRow, 'id' | 'revokedAt'>): void {
    const held = this.#held.get(id);
    if (held?.write === null && (held.hold === 'paused' || revokedAt !== null)) this.#held.delete(id);
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#writing;
    for (const [id, { hold, write }] of this.#held) {
      if (write !== null) this.#options.onLost(id, hold, ENDED);
    }
  }

  async #writeAll(): Promise<void> {
    const { retryMs = FIRST_RETRY_MS } = this.#options;
    const { signal } = this.#stopped;
    for (let pauseMs = retryMs; this.#unwritten().length > 0; pauseMs = Math.min(2 * pauseMs, MAX_RETRY_MS)) {
      await pause(pauseMs, signal).catch(() => undefined);
      if (signal.aborted) break;
      for (const [id, held] of this.#unwritten()) if (!(await this.#writeOne(id, held))) break;
    }
    this.#writing = null;
  }

  #unwritten(): readonly (readonly [string, HeldKey])[] {
    return [...this.#held].filter(([, { write }]) => write !== null);
  }

  /** False: the database still cannot be written. */
  async #writeOne(id: string, { hold, write }: HeldKey): Promise<boolean> {
    const { onWritten, onLost } = this.#options;
    try {
      await write?.();
      // Otherwise it was resumed meanwhile.
      if (this.#held.get(id)?.write === write) onWritten(id, hold);
    } catch (error) {
      if (isPassing(error)) return false;
      onLost(id, hold, error);
    }
    if (this.#held.get(id)?.write === write) this.#held.delete(id);
    return true;
  }
}
