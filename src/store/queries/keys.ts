import { sql, type Selectable } from 'kysely';

import { read, write, type OperationsOf, type Query } from '../operation.ts';
import type { KeyAnnouncement, KeyChanges, KeyRow, KeySecretRow, KeyStore, NewKey } from '../ports/keys.ts';
import type { KeyTable } from '../tables.ts';
import { inParts } from './expressions.ts';

/** Of a key: ended ones are kept to tell their users so, and many rotations within an overlap end the oldest one early. */
const MAX_SECRETS = 10;

const toKey = (row: Selectable<KeyTable>): KeyRow => ({
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
const nextVersion = async ({ db }: Query): Promise<{ readonly version: number; readonly keys: number }> =>
  db
    .updateTable('api_key_state')
    .set((of) => ({ version: of('version', '+', 1) }))
    .where('id', '=', 1)
    .returning(['version', 'keys'])
    .executeTakeFirstOrThrow();

/** The version is read first: a change in the meantime is reported twice, and never lost. */
const changedSince = async ({ db }: Query, since: number): Promise<KeyChanges> => {
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

const find = async ({ db }: Query, id: string): Promise<KeyRow | null> => {
  const row = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toKey(row);
};

const list = async (
  query: Query,
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

const addSecret = async ({ db, now }: Query, keyId: string, hash: string): Promise<void> => {
  await db
    .insertInto('api_key_secrets')
    .values({ key_id: keyId, hash, created_at: now, expires_at: null })
    .execute();
};

const create = async (query: Query, row: NewKey, hash: string, max: number): Promise<KeyRow | null> => {
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
  query: Query,
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
  query: Query,
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

const used = async ({ db }: Query, uses: Parameters<KeyStore['used']>[0]): Promise<void> => {
  for (const { id, at } of uses) {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: at })
      .where('id', '=', id)
      .where((of) => of.or([of('last_used_at', 'is', null), of('last_used_at', '<', at)]))
      .execute();
  }
};

const announce = (_query: Query, _id: string, _what: KeyAnnouncement): Promise<void> => Promise.resolve();

export const keyOperations: OperationsOf<KeyStore> = {
  changedSince: read(changedSince),
  find: read(find),
  list: read(list),
  create: write(create),
  change: write(change),
  rotate: write(rotate),
  announce: write(announce, (_, id, what) => `${id}:${what}`),
  used: write(used),
};
