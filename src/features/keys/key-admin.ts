import { GatewayError, gatewayError } from '../../canonical/failure/failure.ts';
import type { Ambient } from '../../kit/ambient.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import type { KeyAnnouncement, KeyRow, KeyStore } from './store.ts';
import type { LimitStore } from './limit-store.ts';
import { MAX_KEYS, type ApiKey, bodyOf, keyOfRow } from './key.ts';
import type { KeyHold, LiveKeys } from './live-keys.ts';
import { readLimitStatus, type LimitStatus } from './key-limits.ts';
import { mintSecret } from './key-secret.ts';
import { readChanges, readPolicy } from './read-policy.ts';
import { isPassing } from '../../turns/insistently.ts';
import { keyError } from './failures.ts';

export interface KeyAdminOptions {
  readonly store: KeyStore;
  readonly limits: LimitStore;
  readonly ambient: Ambient;
  /** A key was changed: resolves when this process knows it. Must not reject. */
  readonly onChanged?: () => Promise<void>;
  /** The keys that this process serves; absent: it serves none, so nothing can be held in its memory. */
  readonly live?: LiveKeys;
}

/** A key that was paused or revoked. */
export interface StoppedKey {
  readonly key: ApiKey;
  /** Why the database does not have it yet; null: it has. This process holds to it anyway. */
  readonly unwritten: GatewayError | null;
}

/** A key and the secret that was made for it, which is shown this once. */
export interface KeyWithSecret {
  readonly key: ApiKey;
  readonly secret: string;
}

/** Other changes at the same time make a change start again, at most so often. */
const MAX_ATTEMPTS = 20;

/** What administrators do with named keys, over HTTP and on the command line. */
export class KeyAdmin {
  readonly #options: KeyAdminOptions;
  /** The last change by this process. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: KeyAdminOptions) {
    this.#options = options;
  }

  async create(fields: JsonObject): Promise<KeyWithSecret> {
    const { store, ambient } = this.#options;
    const now = ambient.clock.now();
    const policy = readPolicy(fields, now);
    const { secret, hash, hint } = mintSecret();
    const row = await store.create(
      {
        id: ambient.ids.mint('key'),
        hint,
        createdAt: now,
        expiresAt: policy.expiresAt,
        body: bodyOf(policy),
      },
      hash,
      MAX_KEYS,
    );
    if (row === null) throw keyError('too_many_keys');
    return { key: await this.#changed(row), secret };
  }

  async find(id: string): Promise<ApiKey> {
    return this.#shown(await this.#row(id));
  }

  /** The newest first. */
  async list(page: Parameters<KeyStore['list']>[0]): Promise<readonly ApiKey[]> {
    const { store } = this.#options;
    if (page.after !== null && (await store.find(page.after)) === null) {
      throw gatewayError('invalid_value', {
        param: 'after',
        message: `Invalid 'after': there is no key with id '${quoted(page.after)}'.`,
      });
    }
    return (await store.list(page)).map((row) => this.#shown(row));
  }

  /** Changes the given fields. */
  async change(id: string, fields: JsonObject): Promise<ApiKey> {
    const changes = readChanges(fields, this.#options.ambient.clock.now());
    return this.#change(id, (key) => ({ ...key, ...changes }));
  }

  /** A new secret. The others work until the overlap is over. */
  async rotate(id: string, overlapMs: number): Promise<KeyWithSecret> {
    const { store, ambient } = this.#options;
    const { secret, hash, hint } = mintSecret();
    const until = ambient.clock.now() + overlapMs;
    const row = await this.#inTurn(() => store.rotate(id, { hash, hint, until }));
    if (row === null) {
      await this.#row(id);
      throw keyError('key_already_revoked');
    }
    return { key: await this.#changed(row), secret };
  }

  /** Holds in this process at once, whether the database can be written or not. */
  pause(id: string): Promise<StoppedKey> {
    const now = this.#options.ambient.clock.now();
    return this.#stop(id, 'paused', () =>
      this.#changeNow(id, (key) => ({ ...key, pausedAt: key.pausedAt ?? now })),
    );
  }

  resume(id: string): Promise<ApiKey> {
    return this.#inTurn(async () => {
      const held = this.#options.live?.held;
      if (held?.isPaused(id) !== true) return this.#changeNow(id, resumed);
      const row = await this.#row(id);
      // A pause that was never written needs no room to end.
      const key = row.pausedAt === null ? keyOfRow(row) : await this.#changeNow(id, resumed);
      held.release(id);
      await this.#announce(id, 'resumed');
      return key;
    });
  }

  /** For ever. To revoke it again changes nothing. Holds in this process at once, as a pause does. */
  revoke(id: string): Promise<StoppedKey> {
    const now = this.#options.ambient.clock.now();
    return this.#stop(id, 'revoked', async () => {
      const row = await this.#row(id);
      return row.revokedAt === null
        ? this.#changeNow(id, (one) => ({ ...one, revokedAt: now }))
        : keyOfRow(row);
    });
  }

  async #stop(id: string, hold: KeyHold, change: () => Promise<ApiKey>): Promise<StoppedKey> {
    const { live, ambient } = this.#options;
    const write = (): Promise<ApiKey> => this.#inTurn(change);
    const known = live?.byId(id) ?? null;
    if (live === undefined || known === null || known.revokedAt !== null) {
      return { key: await write(), unwritten: null };
    }
    live.held.hold(id, hold, ambient.clock.now());
    try {
      // It is held until its row was read.
      return { key: await write(), unwritten: null };
    } catch (error) {
      if (!(error instanceof GatewayError) || !isPassing(error)) {
        live.held.release(id);
        throw error;
      }
      // It may have been resumed while this waited for its turn.
      const writeHeld = () => this.#inTurn(async () => (live.held.has(id) ? change() : null));
      live.held.writeLater(id, writeHeld, error);
      await this.#announce(id, hold);
      return { key: live.held.apply(known), unwritten: error };
    }
  }

  /** To other instances. Best effort: at the latest they learn of it when it is written. */
  async #announce(id: string, what: KeyAnnouncement): Promise<void> {
    await this.#options.store.announce(id, what).catch(() => undefined);
  }

  /** What the key has used of its limits. */
  async limitsOf(id: string): Promise<readonly LimitStatus[]> {
    return readLimitStatus(await this.find(id), this.#options.limits);
  }

  /** What the key has used of its limits so far does not count any more. */
  async reset(id: string): Promise<ApiKey> {
    const key = await this.find(id);
    await this.#options.limits.reset(id);
    return key;
  }

  #change(id: string, to: (key: ApiKey) => ApiKey): Promise<ApiKey> {
    return this.#inTurn(() => this.#changeNow(id, to));
  }

  /** Only changes by other processes can make a change start again: a revocation never fails for many changes here. */
  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #changeNow(id: string, to: (key: ApiKey) => ApiKey): Promise<ApiKey> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const row = await this.#row(id);
      if (row.revokedAt !== null) throw keyError('key_already_revoked');
      const { expiresAt, pausedAt, revokedAt, ...key } = to(keyOfRow(row));
      const body = bodyOf({ ...key, expiresAt });
      const changed = await this.#options.store.change(id, row.version, {
        expiresAt,
        pausedAt,
        revokedAt,
        body,
      });
      if (changed !== null) return this.#changed(changed);
    }
    throw gatewayError('store_unavailable', { message: 'The key is being changed by others all the time.' });
  }

  #shown(row: KeyRow): ApiKey {
    const key = keyOfRow(row);
    return this.#options.live?.held.apply(key) ?? key;
  }

  async #row(id: string): Promise<KeyRow> {
    const row = await this.#options.store.find(id);
    if (row === null) throw keyError('unknown_key');
    return row;
  }

  async #changed(row: KeyRow): Promise<ApiKey> {
    await this.#options.onChanged?.();
    return keyOfRow(row);
  }
}

const resumed = (key: ApiKey): ApiKey => ({ ...key, pausedAt: null });
