import { pause } from '../kit/async/pause.ts';
import type { KeyRow } from '../store/ports/keys.ts';
import { isPassing } from '../turns/insistently.ts';
import type { ApiKey } from './key.ts';

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

interface Held {
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
  readonly #held = new Map<string, Held>();
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

  #unwritten(): readonly (readonly [string, Held])[] {
    return [...this.#held].filter(([, { write }]) => write !== null);
  }

  /** False: the database still cannot be written. */
  async #writeOne(id: string, { hold, write }: Held): Promise<boolean> {
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
