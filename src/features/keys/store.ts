import { sql } from 'kysely';

import type { Migration } from '../../store/migrations/migration.ts';
import { read, write, type Query } from '../../store/operation.ts';
import type { StorePart, TableNotes } from '../../store/part.ts';
import { inParts } from '../../store/queries/expressions.ts';

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

/** Named API keys. Every change of a key takes the next version from `api_key_state`, which has one row. */
const keyTables: Migration = ({ text, byKeyAlone }) => [
  `create table api_keys (
    id ${text} primary key,
    version bigint not null,
    hint ${text} not null,
    created_at bigint not null,
    expires_at bigint,
    paused_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    body ${text} not null
  )`,
  'create index api_keys_version on api_keys (version)',
  'create index api_keys_list on api_keys (created_at, id)',
  'create index api_keys_revoked on api_keys (revoked_at) where revoked_at is not null',
  `create table api_key_secrets (
    key_id ${text} not null references api_keys (id) on delete cascade,
    hash ${text} not null unique,
    created_at bigint not null,
    expires_at bigint,
    primary key (key_id, hash)
  ) ${byKeyAlone}`,
  `create table api_key_state (
    id integer primary key,
    version bigint not null,
    keys integer not null
  )`,
  'insert into api_key_state (id, version, keys) values (1, 0, 0)',
];

interface KeyTable {
  id: string;
  version: number;
  hint: string;
  created_at: number;
  expires_at: number | null;
  paused_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
  body: string;
}

interface KeySecretTable {
  key_id: string;
  hash: string;
  created_at: number;
  expires_at: number | null;
}

/** One row, with the id 1. */
interface KeyStateTable {
  id: number;
  /** Of the last change of a key. */
  version: number;
  /** How many keys there are. */
  keys: number;
}

interface KeyTables {
  api_keys: KeyTable;
  api_key_secrets: KeySecretTable;
  api_key_state: KeyStateTable;
}

type KeyQuery = Query<KeyTables>;

/** Of a key: ended ones are kept to tell their users so, and many rotations within an overlap end the oldest one early. */
const MAX_SECRETS = 10;

const toKey = (row: KeyTable): KeyRow => ({
  id: row.id,
  version: row.version,
  hint: row.hint,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  pausedAt: row.paused_at,
  revokedAt: row.revoked_at,
  lastUsedAt: row.last_used_at,
  body: row.body,
});

/**
 * The version for a change. Locks the row until the transaction ends, so that changes become visible in the order of
 * their versions.
 */
const nextVersion = async ({ db }: KeyQuery): Promise<{ readonly version: number; readonly keys: number }> =>
  db
    .updateTable('api_key_state')
    .set((of) => ({ version: of('version', '+', 1) }))
    .where('id', '=', 1)
    .returning(['version', 'keys'])
    .executeTakeFirstOrThrow();

/** The version is read first: a change in the meantime is reported twice, and never lost. */
const changedSince = async ({ db }: KeyQuery, since: number): Promise<KeyChanges> => {
  const { version } = await db
    .selectFrom('api_key_state')
    .select('version')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  if (version === since) return { version, keys: [], secrets: [] };
  const rows = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('version', '>', since)
    .orderBy('version')
    .execute();
  const secrets: KeySecretRow[] = [];
  for (const part of inParts(rows.map(({ id }) => id))) {
    const found = await db
      .selectFrom('api_key_secrets')
      .select(['key_id as keyId', 'hash', 'expires_at as expiresAt'])
      .where('key_id', 'in', part)
      .execute();
    secrets.push(...found);
  }
  return { version, keys: rows.map(toKey), secrets };
};

const find = async ({ db }: KeyQuery, id: string): Promise<KeyRow | null> => {
  const row = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toKey(row);
};

const list = async (
  query: KeyQuery,
  { after, limit }: Parameters<KeyStore['list']>[0],
): Promise<readonly KeyRow[]> => {
  let rows = query.db.selectFrom('api_keys').selectAll();
  if (after !== null) {
    const last = await find(query, after);
    if (last === null) return [];
    rows = rows.where(sql<boolean>`(created_at, id) < (${last.createdAt}, ${last.id})`);
  }
  const found = await rows.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute();
  return found.map(toKey);
};

const addSecret = async ({ db, now }: KeyQuery, keyId: string, hash: string): Promise<void> => {
  await db
    .insertInto('api_key_secrets')
    .values({ key_id: keyId, hash, created_at: now, expires_at: null })
    .execute();
};

const create = async (query: KeyQuery, row: NewKey, hash: string, max: number): Promise<KeyRow | null> => {
  const { db } = query;
  const { version, keys } = await nextVersion(query);
  if (keys >= max) {
    const { numDeletedRows } = await db
      .deleteFrom('api_keys')
      .where('id', '=', (of) =>
        of
          .selectFrom('api_keys')
          .select('id')
          .where('revoked_at', 'is not', null)
          .orderBy('revoked_at')
          .limit(1),
      )
      .executeTakeFirst();
    if (numDeletedRows === 0n) return null;
  } else {
    await db
      .updateTable('api_key_state')
      .set({ keys: keys + 1 })
      .where('id', '=', 1)
      .execute();
  }
  const { id, hint, createdAt, expiresAt, body } = row;
  await db
    .insertInto('api_keys')
    .values({
      id,
      version,
      hint,
      created_at: createdAt,
      expires_at: expiresAt,
      paused_at: null,
      revoked_at: null,
      last_used_at: null,
      body,
    })
    .execute();
  await addSecret(query, id, hash);
  return { ...row, version, pausedAt: null, revokedAt: null, lastUsedAt: null };
};

const change = async (
  query: KeyQuery,
  id: string,
  ifVersion: number,
  to: Parameters<KeyStore['change']>[2],
): Promise<KeyRow | null> => {
  const { version } = await nextVersion(query);
  const row = await query.db
    .updateTable('api_keys')
    .set({
      version,
      expires_at: to.expiresAt,
      paused_at: to.pausedAt,
      revoked_at: to.revokedAt,
      body: to.body,
    })
    .where('id', '=', id)
    .where('version', '=', ifVersion)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toKey(row);
};

const rotate = async (
  query: KeyQuery,
  id: string,
  { hash, hint, until }: Parameters<KeyStore['rotate']>[1],
): Promise<KeyRow | null> => {
  const { db } = query;
  const { version } = await nextVersion(query);
  const row = await db
    .updateTable('api_keys')
    .set({ version, hint })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  const secrets = () => db.updateTable('api_key_secrets').where('key_id', '=', id);
  await secrets().set({ expires_at: until }).where('expires_at', 'is', null).execute();
  await secrets().set({ expires_at: until }).where('expires_at', '>', until).execute();
  const kept = await db
    .selectFrom('api_key_secrets')
    .select('hash')
    .where('key_id', '=', id)
    .orderBy('created_at', 'desc')
    .limit(MAX_SECRETS - 1)
    .execute();
  let ended = db.deleteFrom('api_key_secrets').where('key_id', '=', id);
  if (kept.length > 0)
    ended = ended.where(
      'hash',
      'not in',
      kept.map((one) => one.hash),
    );
  await ended.execute();
  await addSecret(query, id, hash);
  return toKey(row);
};

const used = async ({ db }: KeyQuery, uses: Parameters<KeyStore['used']>[0]): Promise<void> => {
  for (const { id, at } of uses) {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: at })
      .where('id', '=', id)
      .where((of) => of.or([of('last_used_at', 'is', null), of('last_used_at', '<', at)]))
      .execute();
  }
};

const announce = (_query: KeyQuery, _id: string, _what: KeyAnnouncement): Promise<void> => Promise.resolve();

/** For docs/store-schema.md. */
const NOTES: TableNotes<KeyTables> = {
  api_keys: {
    after: 'memory',
    about:
      'Named API keys; see [keys](keys.md). They are not deleted when they expire or are revoked: only if there are too many keys, the one that was revoked first is.',
    columns: {
      id: 'random, and the same after a rotation; the `owner` in other tables',
      version: 'the number of its last change, by which other instances notice it',
      hint: 'the ends of its newest secret',
      created_at: '',
      expires_at: 'null: never',
      paused_at: '',
      revoked_at: '',
      last_used_at: 'up to a minute old',
      body: 'its name, note, scopes and limits as JSON; not sealed, because it has no content',
    },
  },
  api_key_secrets: {
    about: 'The secrets of keys, only as hashes. After a rotation there are several for a while.',
    columns: {
      key_id: '',
      hash: 'SHA-256 of the secret',
      created_at: '',
      expires_at: 'the end of the overlap of a rotation; null: none',
    },
  },
  api_key_state: {
    about: 'One row. Every change of a key takes the next version from it.',
    columns: { id: '1', version: 'that of the last change of a key', keys: 'how many keys there are' },
  },
};

export const keyStore: StorePart<KeyStore> = {
  name: 'keys',
  operations: {
    changedSince: read(changedSince),
    find: read(find),
    list: read(list),
    create: write(create),
    change: write(change),
    rotate: write(rotate),
    announce: write(announce, (_, id, what) => `${id}:${what}`, 'key'),
    used: write(used),
  },
  migrations: { 2: keyTables },
  status: { keys: { after: 'memory', text: (rows) => `${rows['api_keys']} named keys` } },
  tables: NOTES,
};
