import type { Selectable } from 'kysely';

import type { Place } from '../../../store/seal.ts';
import type { SegmentTable, StateQuery } from './tables.ts';

export const cacheKeyPlace = (owner: string, segment: string): Place => ({
  column: 'segments.cache_key',
  row: segment,
  owner,
});

export const segmentPlace = (owner: string, segment: string): Place => ({
  column: 'segments.body',
  row: segment,
  owner,
});

type LockedSegment = Pick<Selectable<SegmentTable>, 'kind' | 'tip' | 'expires_at'>;

/** Keeps other writers away from a segment until the end of the transaction. Null: it does not exist. */
export const lockSegment = async (
  { db }: StateQuery,
  owner: string,
  id: string,
): Promise<LockedSegment | null> => {
  const row = await db
    .selectFrom('segments')
    .select(['kind', 'tip', 'expires_at'])
    .where('id', '=', id)
    .where('owner', '=', owner)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
};

/**
 * The last position of a segment that a response or another segment needs; -1: none. `tip` is its last turn: PostgreSQL
 * would read all entries of deleted ones after it.
 */
export const neededUpTo = async ({ db }: StateQuery, id: string, tip: number): Promise<number> => {
  const response = await db
    .selectFrom('responses')
    .select((of) => of.fn.max('pos').as('pos'))
    .where('segment_id', '=', id)
    .where('pos', '<=', tip)
    .executeTakeFirst();
  const fork = await db
    .selectFrom('segments')
    .select((of) => of.fn.max('from_pos').as('pos'))
    .where('from_segment', '=', id)
    .where('from_pos', '<=', tip)
    .executeTakeFirst();
  return Math.max(response?.pos ?? -1, fork?.pos ?? -1);
};

/** Deletes the turns after a position, up to the last one. */
export const cutSegment = async (
  { db }: StateQuery,
  id: string,
  tip: number,
  last: number,
): Promise<void> => {
  for (const table of ['turns', 'item_index'] as const) {
    await db
      .deleteFrom(table)
      .where('segment_id', '=', id)
      .where('pos', '>', tip)
      .where('pos', '<=', last)
      .execute();
  }
  await db.updateTable('segments').set({ tip }).where('id', '=', id).execute();
};

/** A longer segment without use is left to the sweep, which deletes it in steps. */
const MAX_TURNS_AT_ONCE = 100;
/** Deeper ancestors are left to the sweep. */
const MAX_ANCESTORS = 100;

/** Deletes what no response, conversation or other segment needs of a segment, and then of those before it. */
export const trimSegment = async (query: StateQuery, owner: string, id: string): Promise<void> => {
  let next: string | null = id;
  for (let depth = 0; next !== null && depth < MAX_ANCESTORS; depth += 1) {
    next = await trimOne(query, owner, next);
  }
};

/** Returns the segment before, if this one is gone. */
const trimOne = async (query: StateQuery, owner: string, id: string): Promise<string | null> => {
  const segment = await lockSegment(query, owner, id);
  if (segment === null || segment.kind === 'conversation') return null;
  const tip = await neededUpTo(query, id, segment.tip);
  if (tip >= 0) {
    if (tip < segment.tip) await cutSegment(query, id, tip, segment.tip);
    return null;
  }
  if (segment.tip < MAX_TURNS_AT_ONCE) return deleteSegment(query, id);
  const { db, now } = query;
  await db.updateTable('segments').set({ expires_at: now, sweep_at: now }).where('id', '=', id).execute();
  return null;
};

/** Deletes a segment and its turns. Returns the segment before. */
export const deleteSegment = async ({ db }: StateQuery, id: string): Promise<string | null> => {
  const row = await db
    .deleteFrom('segments')
    .where('id', '=', id)
    .returning('from_segment')
    .executeTakeFirst();
  return row?.from_segment ?? null;
};
