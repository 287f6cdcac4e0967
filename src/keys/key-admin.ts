import { gatewayError } from '../canonical/failure/failure.ts';
import type { Ambient } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { quoted } from '../kit/text/quote.ts';
import type { KeyRow, KeyStore } from '../store/ports/keys.ts';
import type { LimitStore } from '../store/ports/limits.ts';
import { MAX_KEYS, type ApiKey } from './key.ts';
import { bodyOf, keyOf } from './key-body.ts';
import { readLimitStatus, type LimitStatus } from './limit-status.ts';
import { mintSecret } from './key-secret.ts';
import { readChanges, readPolicy } from './read-policy.ts';

export interface KeyAdminOptions {
  readonly store: KeyStore;
  readonly limits: Pick<LimitStore, 'reset' | 'status'>;
  readonly ambient: Ambient;
  /** A key was changed: resolves when this process knows it. Must not reject. */
  readonly onChanged?: () => Promise<void>;
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
    if (row === null) throw gatewayError('too_many_keys');
    return { key: await this.#changed(row), secret };
  }

  async find(id: string): Promise<ApiKey> {
    return keyOf(await this.#row(id));
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
    return (await store.list(page)).map(keyOf);
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
      throw gatewayError('key_already_revoked');
    }
    return { key: await this.#changed(row), secret };
  }

  pause(id: string): Promise<ApiKey> {
    const now = this.#options.ambient.clock.now();
    return this.#change(id, (key) => ({ ...key, pausedAt: key.pausedAt ?? now }));
  }

  resume(id: string): Promise<ApiKey> {
    return this.#change(id, (key) => ({ ...key, pausedAt: null }));
  }

  /** For ever. To revoke it again changes nothing. */
  revoke(id: string): Promise<ApiKey> {
    return this.#inTurn(async () => {
      const key = await this.find(id);
      if (key.revokedAt !== null) return key;
      const now = this.#options.ambient.clock.now();
      return this.#changeNow(id, (one) => ({ ...one, revokedAt: now }));
    });
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
      if (row.revokedAt !== null) throw gatewayError('key_already_revoked');
      const { expiresAt, pausedAt, revokedAt, ...key } = to(keyOf(row));
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

  async #row(id: string): Promise<KeyRow> {
    const row = await this.#options.store.find(id);
    if (row === null) throw gatewayError('unknown_key');
    return row;
  }

  async #changed(row: KeyRow): Promise<ApiKey> {
    await this.#options.onChanged?.();
    return keyOf(row);
  }
}
