import { sql } from 'kysely';

import type { Migration } from '../migrations/migration.ts';
import { batched, read, together, write, type Query } from '../operation.ts';
import type { StorePart, TableNotes } from '../part.ts';
import type { Place } from '../seal.ts';
import type { MemoryKind, MemoryStore } from '../store.ts';
import type { MemoryTable } from '../tables.ts';
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
  query: Query,
  kind: MemoryKind,
  key: string,
  value: string,
  expiresAt: number,
): Promise<void> => {
  const { db, seal } = query;
  const row = { kind, key, value: seal.close(placeOf(kind, key), value), expires_at: expiresAt };
  await together(query, [
    db
      .insertInto('memory')
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['kind', 'key']).doUpdateSet((of) => ({
          value: of.ref('excluded.value'),
          expires_at: of.ref('excluded.expires_at'),
        })),
      )
      .compile(),
  ]);
};

const claim = async (
  query: Query,
  kind: MemoryKind,
  key: string,
  value: string,
  expiresAt: number,
): Promise<string> => {
  const { db, seal, now } = query;
  const place = placeOf(kind, key);
  const [claimed] = await together(query, [
    db
      .insertInto('memory')
      .values({ kind, key, value: seal.close(place, value), expires_at: expiresAt })
      .onConflict((conflict) =>
        conflict.columns(['kind', 'key']).doUpdateSet((of) => ({
          value: sql<string>`case when ${of.ref('memory.expires_at')} > ${now} then ${of.ref('memory.value')} else ${of.ref('excluded.value')} end`,
          expires_at: atLeast('memory.expires_at', expiresAt),
        })),
      )
      .returning('value')
      .compile(),
  ]);
  const [kept] = (claimed?.rows ?? []) as readonly Pick<MemoryTable, 'value'>[];
  return seal.open(place, kept?.value);
};

const drop = async ({ db }: Query, kind: MemoryKind, keys: readonly string[]): Promise<void> => {
  for (const part of inParts(keys)) {
    await db.deleteFrom('memory').where('kind', '=', kind).where('key', 'in', part).execute();
  }
};

const deleteMemory = async ({ db, now }: Query, limit: number): Promise<number> => {
  const rows = await db
    .selectFrom('memory')
    .select(['kind', 'key'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  let deleted = 0;
  for (const { kind, key } of rows) {
    const { numDeletedRows } = await db
      .deleteFrom('memory')
      .where('kind', '=', kind)
      .where('key', '=', key)
      // It may have been claimed again.
      .where('expires_at', '<=', now)
      .executeTakeFirst();
    deleted += Number(numDeletedRows);
  }
  return deleted;
};

const memoryTable: Migration = ({ text }) => [
  `create table memory (
    kind ${text} not null,
    key ${text} not null,
    expires_at bigint not null,
    value ${text} not null,
    primary key (kind, key)
  )`,
  'create index memory_expiry on memory (expires_at)',
];

const NOTES: TableNotes<{ memory: MemoryTable }> = {
  memory: {
    after: 'chat_metadata',
    sealed: 'value',
    isSwept: true,
    about: 'Small values that all instances share. Losing one costs time, never content.',
    columns: {
      kind: '`cache-id`: the id of a conversation at the backend; `reasoning`: what clients cannot send back; `signature-key`: signs the reasoning that they can send back, and makes the ids of configured keys that are shown',
      key: 'a digest',
      expires_at: '',
      value: 'sealed',
    },
  },
};

/** What is lost is made again. With another key, what was signed is unknown, and so are the ids of keys. */
const RELAXED = { isRelaxed: (kind: MemoryKind) => kind !== 'signature-key' } as const;

export const memoryStore: StorePart<MemoryStore> = {
  name: 'memory',
  operations: {
    get: read(get),
    put: batched(put, RELAXED),
    claim: batched(claim, RELAXED),
    drop: write(drop),
  },
  migrations: { 1: memoryTable },
  tables: NOTES,
  status: { memory: { after: 'events', text: (rows) => `${rows['memory']} values` } },
  sweep: deleteMemory,
};
