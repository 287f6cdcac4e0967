import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

import { forgetOldest } from '../kit/collections/recent.ts';
import type { Store } from './store.ts';

/**
 * The ids of configured keys. In the store, the owner of a row is a plain hash of the key, on which every seal depends.
 * A reader of that hash can try out keys until one fits. So the rest of this server knows only the id that is made of it
 * with a secret of the installation, and shows that to everyone. Ids of named keys are random, and the same everywhere.
 */
export class KeyIds {
  #secrets: readonly KeyObject[] = [];
  /** Of the current secrets. Making a cipher takes longer than all else here, and a request needs several. */
  readonly #shown = new Map<string, string>();
  readonly #owners = new Map<string, string>();

  /** `secrets`: the first one makes ids, and those of all of them are understood. */
  constructor(secrets: readonly Uint8Array[]) {
    this.use(secrets);
  }

  use(secrets: readonly Uint8Array[]): void {
    this.#secrets = secrets.map((secret) =>
      createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'codex-app-server-proxy key ids', 32))),
    );
    this.#shown.clear();
    this.#owners.clear();
  }

  /** The id of a configured key. */
  of(key: string): string {
    // Not the hash with which keys are compared.
    const hash = createHash('sha256').update(`key-id:${key}`).digest();
    return this.shown(`key_${hash.toString('hex', 0, HASH_BYTES)}`);
  }

  /** The id of the owner of a row. */
  shown(owner: string): string {
    const known = this.#shown.get(owner);
    if (known !== undefined) return known;
    const [secret] = this.#secrets;
    const hash = OWNER.exec(owner)?.[1];
    if (hash === undefined || secret === undefined) return owner;
    const block = Buffer.alloc(BLOCK_BYTES);
    block.write(hash, 'hex');
    const id = `key_${once(createCipheriv('aes-256-ecb', secret, null), block).toString('base64url')}`;
    return remembered(this.#shown, owner, id);
  }

  /** The owner with this id. Any other text is returned as it is. */
  ownerOf(shown: string): string {
    const known = this.#owners.get(shown);
    if (known !== undefined) return known;
    const written = SHOWN.exec(shown)?.[1];
    if (written === undefined) return shown;
    for (const secret of this.#secrets) {
      const block = once(createDecipheriv('aes-256-ecb', secret, null), Buffer.from(written, 'base64url'));
      if (block.subarray(HASH_BYTES).every((byte) => byte === 0)) {
        return remembered(this.#owners, shown, `key_${block.toString('hex', 0, HASH_BYTES)}`);
      }
    }
    return shown;
  }
}

/** The rest of a block is zero: a made-up id does not become an owner. */
const HASH_BYTES = 4;
const BLOCK_BYTES = 16;
const OWNER = /^key_([0-9a-f]{8})$/;
const SHOWN = /^key_([\w-]{22})$/;

/** Keys are few. A made-up id has no owner, so it is not remembered. */
const MAX_REMEMBERED = 1_000;

const remembered = (ids: Map<string, string>, from: string, to: string): string => {
  ids.set(from, to);
  forgetOldest(ids, MAX_REMEMBERED);
  return to;
};

/** One block needs no mode: no two owners have the same, and an owner always has the same id. */
const once = (cipher: ReturnType<typeof createCipheriv | typeof createDecipheriv>, block: Buffer): Buffer => {
  cipher.setAutoPadding(false);
  return Buffer.concat([cipher.update(block), cipher.final()]);
};

/**
 * A store in which owners have the ids that this server shows. All methods follow one rule: the owner is the first
 * argument, or it is the field `owner`, `keyId` or `keyIds` of an argument or a result, or of each entry of one.
 */
export const withShownIds = (store: Store, ids: KeyIds): Store => {
  const toOwner = (shown: string): string => ids.ownerOf(shown);
  const toShown = (owner: string): string => ids.shown(owner);
  const given = (arg: unknown, index: number): unknown =>
    index === 0 && typeof arg === 'string' ? toOwner(arg) : renamed(arg, toOwner);
  const method =
    (run: Method): Method =>
    async (...args) =>
      renamed(await run(...args.map(given)), toShown);
  const parts = Object.entries(store).map(([name, part]: [string, unknown]) => [
    name,
    isPart(part) ? Object.fromEntries(Object.entries(part).map(([key, run]) => [key, method(run)])) : part,
  ]);
  return Object.fromEntries(parts) as Store;
};

type Method = (...args: readonly unknown[]) => Promise<unknown>;
type Methods = Readonly<Record<string, Method>>;

const isPart = (part: unknown): part is Methods => typeof part === 'object' && part !== null;

const ID_FIELDS: ReadonlySet<string> = new Set(['owner', 'keyId', 'keyIds']);

const renamed = (value: unknown, rename: (id: string) => string): unknown => {
  if (Array.isArray(value)) return value.map((entry) => renamed(entry, rename));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value);
  // Others, such as maps, have no fields, and stay what they are.
  if (!fields.some(([name]) => ID_FIELDS.has(name))) return value;
  return Object.fromEntries(
    fields.map(([name, field]) => [name, ID_FIELDS.has(name) ? renamedIn(field, rename) : field]),
  );
};

const renamedIn = (field: unknown, rename: (id: string) => string): unknown => {
  if (Array.isArray(field)) return field.map((id) => renamedIn(id, rename));
  return typeof field === 'string' ? rename(field) : field;
};
