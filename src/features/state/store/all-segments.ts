import { sql, type Selectable } from 'kysely';

import { read, write, type OperationsOf } from '../../../store/operation.ts';
import type { Position, SegmentCut, SegmentRow, SegmentStore } from './port.ts';
import type { SegmentTable, StateQuery } from './tables.ts';
import { inParts } from '../../../store/queries/expressions.ts';
import { turnsOfSegment } from './segment-turns.ts';
import { unsealed } from './unsealed.ts';
import { cutSegment, lockSegment, neededUpTo, segmentPlace, trimSegment } from './segments.ts';

const COLUMNS = [
  'id',
  'owner',
  'kind',
  'from_segment',
  'from_pos',
  'tip',
  'created_at',
  'updated_at',
  'expires_at',
] as const;

const toRow = (row: Pick<Selectable<SegmentTable>, (typeof COLUMNS)[number]>): SegmentRow => ({
  id: row.id,
  owner: row.owner,
  kind: row.kind,
  createdAt: row.created_at,
  // Rows of earlier versions have none.
  updatedAt: row.updated_at ?? row.created_at,
  expiresAt: row.expires_at,
  turns: row.tip + 1,
  from:
    row.from_segment === null || row.from_pos === null
      ? null
      : { segment: row.from_segment, pos: row.from_pos },
});

/** Later than every row. */
const NEWEST = { created_at: Number.MAX_SAFE_INTEGER, id: '' };

const list = async (
  { db, now }: StateQuery,
  { owner, after, limit }: Parameters<SegmentStore['list']>[0],
): Promise<readonly SegmentRow[] | null> => {
  const from =
    after === null
      ? NEWEST
      : // A row that has expired since the last page still has its place.
        await db
          .selectFrom('segments')
          .select(['created_at', 'id'])
          .where('id', '=', after)
          .executeTakeFirst();
  if (from === undefined) return null;
  const rows = await db
    .selectFrom('segments')
    .select(COLUMNS)
    .$if(owner !== null, (all) => all.where('owner', '=', owner))
    .where(sql<boolean>`(created_at, id) < (${from.created_at}, ${from.id})`)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return rows.map(toRow);
};

const find: (query: StateQuery, id: string) => ReturnType<SegmentStore['find']> = async (query, id) => {
  const row = await query.db
    .selectFrom('segments')
    .select(COLUMNS)
    .select('body')
    .where('id', '=', id)
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  if (row === undefined) return null;
  const body =
    row.body === null ? null : unsealed(() => query.seal.open(segmentPlace(row.owner, id), row.body));
  return { ...toRow(row), body };
};

const remove = async (query: StateQuery, id: string, limit: number): Promise<SegmentCut | null> => {
  const { db, now } = query;
  const known = await db
    .selectFrom('segments')
    .select('owner')
    .where('id', '=', id)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  const segment = known === undefined ? null : await lockSegment(query, known.owner, id);
  if (known === undefined || segment === null) return null;
  if (segment.kind === 'conversation') {
    await db
      .updateTable('segments')
      .set({ kind: 'chain', body: null, locked_by: null, locked_until: null })
      .where('id', '=', id)
      .execute();
  }
  const hasMoreResponses = (await deleteResponses(query, { segment: id, pos: segment.tip }, limit)) === limit;
  const needed = await neededUpTo(query, id, segment.tip);
  const keptTip = Math.max(needed, segment.tip - limit);
  const itemIds = await itemsAfter(query, { segment: id, pos: keptTip }, segment.tip);
  if (keptTip < segment.tip) await cutSegment(query, id, keptTip, segment.tip);
  const isDone = !hasMoreResponses && keptTip === needed;
  if (keptTip < 0) await trimSegment(query, known.owner, id);
  return { isDone, tip: segment.tip, keptTip, itemIds };
};

/** The last ones of a segment, up to its tip. Returns how many. */
const deleteResponses = async (
  { db }: StateQuery,
  { segment, pos }: Position,
  limit: number,
): Promise<number> => {
  const rows = await db
    .selectFrom('responses')
    .select('id')
    .where('segment_id', '=', segment)
    .where('pos', '<=', pos)
    .orderBy('pos', 'desc')
    .limit(limit)
    .execute();
  for (const ids of inParts(rows.map(({ id }) => id))) {
    await db.deleteFrom('responses').where('id', 'in', ids).execute();
    await db.deleteFrom('run_events').where('response_id', 'in', ids).execute();
  }
  return rows.length;
};

const itemsAfter = async (
  { db }: StateQuery,
  { segment, pos }: Position,
  last: number,
): Promise<readonly string[]> => {
  const rows = await db
    .selectFrom('item_index')
    .select('id')
    .where('segment_id', '=', segment)
    .where('pos', '>', pos)
    .where('pos', '<=', last)
    .execute();
  return rows.map(({ id }) => id);
};

/** Every response may have been among the deleted ones. */
const ANY = '*';

export const segmentOperations: OperationsOf<SegmentStore> = {
  list: read(list),
  find: read(find),
  turns: read(turnsOfSegment),
  delete: write(remove, (cut) => (cut === null ? null : ANY)),
};
