import { sql } from 'kysely';

import { read, write, type OperationsOf, type Query } from '../operation.ts';
import type { Place } from '../seal.ts';
import type { MemoryKind, MemoryStore } from '../store.ts';
import { atLeast, inParts } from './expressions.ts';

const placeOf = (kind: MemoryKind, key: string): Place => ({ column: 'memory.value', row: `${kind}/${key}` });

const get = async (
  { db, seal, now }: Query,
  kind: MemoryKind,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const values = new Map<string, string>();
  for (const part of inParts(keys)) {
    const rows = await db
      .selectFrom('memory')
      .select(['key', 'value'])
      .where('kind', '=', kind)
      .where('key', 'in', part)
      .where('expires_at', '>', now)
      .execute();
    for (const { key, value } of rows) values.set(key, seal.open(placeOf(kind, key), value));
  }
  return values;
};

const put = async (
  { db, seal }: Query,
  kind: MemoryKind,
  key: string,
  value: string,
  expiresAt: number,
): Promise<void> => {
  await db
    .insertInto('memory')
    .values({ kind, key, value: seal.close(placeOf(kind, key), value), expires_at: expiresAt })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'key']).doUpdateSet((of) => ({
        value: of.ref('excluded.value'),
        expires_at: of.ref('excluded.expires_at'),
      })),
    )
    .execute();
};

const claim = async (
  { db, seal, now }: Query,
  kind: MemoryKind,
  key: string,
  value: string,
  expiresAt: number,
): Promise<string> => {
  const place = placeOf(kind, key);
  const { value: kept } = await db
    .insertInto('memory')
    .values({ kind, key, value: seal.close(place, value), expires_at: expiresAt })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'key']).doUpdateSet((of) => ({
        value: sql<string>`case when ${of.ref('memory.expires_at')} > ${now} then ${of.ref('memory.value')} else ${of.ref('excluded.value')} end`,
        expires_at: atLeast('memory.expires_at', expiresAt),
      })),
    )
    .returning('value')
    .executeTakeFirstOrThrow();
  return seal.open(place, kept);
};

const drop = async ({ db }: Query, kind: MemoryKind, keys: readonly string[]): Promise<void> => {
  for (const part of inParts(keys)) {
    await db.deleteFrom('memory').where('kind', '=', kind).where('key', 'in', part).execute();
  }
};

export const memoryOperations: OperationsOf<MemoryStore> = {
  get: read(get),
  put: write(put),
  claim: write(claim),
  drop: write(drop),
};
