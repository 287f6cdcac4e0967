import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

import type { Clock } from '../../kit/ambient.ts';
import type { MemoryStore } from '../../store/store.ts';

/** Where sessions are kept: the store, or the memory of this process. */
export type SessionMemory = Pick<MemoryStore, 'drop' | 'get' | 'put'>;

export interface SessionsDeps {
  readonly memory: SessionMemory;
  readonly clock: Clock;
}

/** A session that was found by its token. */
export interface FoundSession {
  /** The key that opened the session. */
  readonly key: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

const KIND = 'console-session';
export const SESSION_MS = 12 * 60 * 60_000;
const IDLE_MS = 2 * 60 * 60_000;
/** A session that is used is written again only so often. */
const SEEN_EVERY_MS = 5 * 60_000;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const idOf = (token: string): string => digest(`console-session-id:${token}`).toString('base64url');
const seenOf = (id: string): string => `${id}/seen`;

/**
 * Sessions of the console. Only the browser has the token of a session. Kept are a hash of the token, and the API key
 * encrypted with another hash of it: who reads the store learns neither. As every request is then checked with that
 * key, a session can do what its key can do at that moment, and ends with it.
 *
 * A session consists of two rows. The second one says that it was used lately, and is the only one written again, so
 * that a request that is under way cannot revive a session that was signed out.
 */
export class Sessions {
  readonly #deps: SessionsDeps;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** Opens a session for this key, which the caller has checked. Returns its token. */
  async open(key: string): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const { memory, clock } = this.#deps;
    const token = randomBytes(32).toString('base64url');
    const id = idOf(token);
    const expiresAt = clock.now() + SESSION_MS;
    await memory.put(KIND, id, JSON.stringify({ sealed: seal(token, key), expiresAt }), expiresAt);
    await this.#seen(id);
    return { token, expiresAt };
  }

  /** Null: unknown, expired, or not used for two hours. */
  async find(token: string): Promise<FoundSession | null> {
    const { memory, clock } = this.#deps;
    const id = idOf(token);
    const rows = await memory.get(KIND, [id, seenOf(id)]);
    const [row, seen] = [rows.get(id), rows.get(seenOf(id))];
    if (row === undefined || seen === undefined) return null;
    const { sealed, expiresAt } = JSON.parse(row) as { readonly sealed: string; readonly expiresAt: number };
    if (clock.now() - Number(seen) >= SEEN_EVERY_MS) await this.#seen(id);
    return { key: unseal(token, sealed), expiresAt };
  }

  async close(token: string): Promise<void> {
    const id = idOf(token);
    await this.#deps.memory.drop(KIND, [id, seenOf(id)]);
  }

  async #seen(id: string): Promise<void> {
    const { memory, clock } = this.#deps;
    const now = clock.now();
    await memory.put(KIND, seenOf(id), String(now), now + IDLE_MS);
  }
}

const sealKeyOf = (token: string): Buffer => digest(`console-session-key:${token}`);

const seal = (token: string, text: string): string => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', sealKeyOf(token), nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
};

const unseal = (token: string, sealed: string): string => {
  const bytes = Buffer.from(sealed, 'base64url');
  const [nonce, rest] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES)];
  const decipher = createDecipheriv('aes-256-gcm', sealKeyOf(token), nonce);
  decipher.setAuthTag(rest.subarray(0, TAG_BYTES));
  return Buffer.concat([decipher.update(rest.subarray(TAG_BYTES)), decipher.final()]).toString('utf8');
};

/** Two rows for each of a thousand sessions. */
const MAX_ROWS = 2_000;

/** Sessions without a store: they end with the process. If there are too many, the oldest ones end. */
export const createVolatileMemory = (clock: Clock): SessionMemory => {
  const rows = new Map<string, { readonly value: string; readonly expiresAt: number }>();
  return {
    async get(_kind, keys) {
      const now = clock.now();
      const known = keys.flatMap((key) => {
        const row = rows.get(key);
        return row === undefined || row.expiresAt <= now ? [] : [[key, row.value] as const];
      });
      return new Map(known);
    },
    async put(_kind, key, value, expiresAt) {
      rows.delete(key);
      rows.set(key, { value, expiresAt });
      for (const oldest of rows.keys()) {
        if (rows.size <= MAX_ROWS) return;
        rows.delete(oldest);
      }
    },
    async drop(_kind, keys) {
      for (const key of keys) rows.delete(key);
    },
  };
};
