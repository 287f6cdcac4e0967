import { sql } from 'kysely';

import { append } from '../../../kit/collections/lists.ts';
import { batched, read, write, type OperationsOf } from '../../../store/operation.ts';
import type { Position, TurnRow, TurnStore } from './port.ts';
import { BODY_BYTES, firstWithin } from './body-sizes.ts';
import { commitTurn } from './commit-turn.ts';
import { inParts } from '../../../store/queries/expressions.ts';
import { cacheKeyPlace } from './segments.ts';
import { toTurn, TURN_COLUMNS, turnPlace } from './turn-rows.ts';
import type { StateQuery } from './tables.ts';

/** Turns of the owner whose segment has not expired. */
const known = ({ db, now }: StateQuery, owner: string) =>
  db
    .selectFrom('turns')
    .innerJoin('segments', 'segments.id', 'turns.segment_id')
    .where('segments.owner', '=', owner)
    .where('segments.expires_at', '>', now);

const size = async (query: StateQuery, owner: string, at: Position): Promise<number | null> => {
  const row = await known(query, owner)
    .select('turns.total_chars')
    .where('turns.segment_id', '=', at.segment)
    .where('turns.pos', '=', at.pos)
    .executeTakeFirst();
  return row?.total_chars ?? null;
};

/**
 * One query over all segments. The rows are sorted here: the database would copy the bodies to sort them. An older
 * segment counts even if it has expired: it is kept for the ones that were forked from it.
 */
const upTo = async (query: StateQuery, owner: string, at: Position): Promise<readonly TurnRow[]> => {
  const rows = await query.db
    .withRecursive('path(segment_id, last, depth)', (db) =>
      db
        .selectFrom('segments')
        .select((of) => [
          of.ref('id').$castTo<string | null>().as('segment_id'),
          sql<number | null>`cast(${at.pos} as integer)`.as('last'),
          sql<number>`0`.as('depth'),
        ])
        .where('id', '=', at.segment)
        .where('owner', '=', owner)
        .where('expires_at', '>', query.now)
        .where('tip', '>=', at.pos)
        .unionAll(
          db
            .selectFrom('path')
            .innerJoin('segments', 'segments.id', 'path.segment_id')
            .select((of) => [
              'segments.from_segment as segment_id',
              'segments.from_pos as last',
              of('path.depth', '+', 1).as('depth'),
            ])
            .where('segments.from_segment', 'is not', null),
        ),
    )
    .selectFrom('path')
    .innerJoin('turns', (join) =>
      join.onRef('turns.segment_id', '=', 'path.segment_id').onRef('turns.pos', '<=', 'path.last'),
    )
    .select(TURN_COLUMNS)
    .select('path.depth')
    .execute();
  return rows
    .toSorted((one, other) => other.depth - one.depth || one.pos - other.pos)
    .map((row) => toTurn(query, row));
};

const cacheKey = async (query: StateQuery, owner: string, segment: string): Promise<string | null> => {
  const row = await query.db
    .selectFrom('segments')
    .select('cache_key')
    .where('id', '=', segment)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  return row === undefined ? null : query.seal.open(cacheKeyPlace(owner, segment), row.cache_key);
};

const page: (
  query: StateQuery,
  ...args: Parameters<TurnStore['page']>
) => Promise<readonly TurnRow[]> = async (query, owner, segment, { from, order, limit, maxChars }) => {
  const turns = known(query, owner)
    .where('turns.segment_id', '=', segment)
    .$if(from !== null, (all) => all.where('turns.pos', order === 'asc' ? '>' : '<', from))
    .orderBy('turns.pos', order);
  const sizes = await turns.select('turns.pos').select(BODY_BYTES).limit(limit).execute();
  const count = firstWithin(sizes, maxChars).length;
  if (count === 0) return [];
  const rows = await turns.select(TURN_COLUMNS).limit(count).execute();
  return rows.map((row) => toTurn(query, row));
};

const byKey = async (query: StateQuery, owner: string, key: string): Promise<TurnRow | null> => {
  const row = await known(query, owner).select(TURN_COLUMNS).where('turns.key', '=', key).executeTakeFirst();
  return row === undefined ? null : toTurn(query, row);
};

const byKeys = async (
  query: StateQuery,
  owner: string,
  keys: readonly string[],
  maxChars: number,
): Promise<readonly TurnRow[]> => {
  const sizes: { readonly key: string; readonly bytes: number }[] = [];
  for (const part of inParts(keys)) {
    const some = known(query, owner).where('turns.key', 'in', part);
    append(sizes, await some.select('turns.key').select(BODY_BYTES).execute());
  }
  const turns: TurnRow[] = [];
  for (const part of inParts(firstWithin(sizes, maxChars).map(({ key }) => key))) {
    const rows = await query.db.selectFrom('turns').select(TURN_COLUMNS).where('key', 'in', part).execute();
    for (const row of rows) turns.push(toTurn(query, row));
  }
  return turns;
};

const byItems = async (
  query: StateQuery,
  owner: string,
  itemIds: readonly string[],
  maxChars: number,
): Promise<ReadonlyMap<string, TurnRow>> => {
  const keys = new Map<string, string>();
  for (const ids of inParts(itemIds)) {
    const rows = await known(query, owner)
      .innerJoin('item_index', (join) =>
        join
          .onRef('item_index.segment_id', '=', 'turns.segment_id')
          .onRef('item_index.pos', '=', 'turns.pos'),
      )
      .select(['item_index.id', 'turns.key'])
      .where('item_index.owner', '=', owner)
      .where('item_index.id', 'in', ids)
      .execute();
    for (const { id, key } of rows) keys.set(id, key);
  }
  // A turn with several of the items is read once.
  const rows = await byKeys(query, owner, [...keys.values()], maxChars);
  const turns = new Map(rows.map((row) => [row.key, row]));
  return new Map(
    [...keys].flatMap(([id, key]) => {
      const turn = turns.get(key);
      return turn === undefined ? [] : [[id, turn] as const];
    }),
  );
};

const rewrite = async (query: StateQuery, owner: string, turn: TurnRow, body: string): Promise<boolean> => {
  const { db, seal } = query;
  const row = await db
    .selectFrom('turns')
    .select('body')
    .where('segment_id', '=', turn.segment)
    .where('pos', '=', turn.pos)
    .where('owner', '=', owner)
    .where('key', '=', turn.key)
    .forUpdate()
    .executeTakeFirst();
  const place = turnPlace(owner, turn);
  if (row === undefined || seal.open(place, row.body) !== turn.body) return false;
  // The totals of later turns stay as they are: to change them, SQLite would write all their bodies again.
  await db
    .updateTable('turns')
    .set({ body: seal.close(place, body) })
    .where('segment_id', '=', turn.segment)
    .where('pos', '=', turn.pos)
    .execute();
  return true;
};

export const turnOperations: OperationsOf<TurnStore> = {
  commit: batched(commitTurn, {
    // No one can wait for another response: it is unknown until now.
    changed: ({ response }) => (response?.isBackground === true ? response.id : null),
  }),
  size: read(size),
  upTo: read(upTo),
  cacheKey: read(cacheKey),
  page: read(page),
  byKey: read(byKey),
  byKeys: read(byKeys),
  byItems: read(byItems),
  rewrite: write(rewrite),
};
