import { sql } from 'kysely';

import type { SegmentStore, SegmentTurn, SegmentTurns } from './port.ts';
import { BODY_BYTES, firstWithin } from './body-sizes.ts';
import { turnPlace } from './turn-rows.ts';
import { unsealed } from './unsealed.ts';
import type { StateQuery } from './tables.ts';

type Page = Parameters<SegmentStore['turns']>[1];

/** The turns of a segment up to a position, as a part of what continues it. */
interface Part {
  readonly segment: string;
  readonly last: number;
}

interface TurnSize {
  readonly segment_id: string;
  readonly pos: number;
  readonly bytes: number;
}

/** Segments before these are not read: each request of a client would have forked the one before. */
const MAX_PARTS = 10_000;

export const turnsOfSegment = async (
  query: StateQuery,
  id: string,
  page: Page,
): Promise<SegmentTurns | null> => {
  const oldestFirst = await partsOf(query, id);
  const parts = page.order === 'asc' ? oldestFirst : oldestFirst.toReversed();
  const start = await startOf(query, parts, page.after);
  if (start === null) return null;
  // One more than asked for says whether there are more.
  const sizes = await sizesFrom(query, parts, start, { ...page, limit: page.limit + 1 });
  const chosen = firstWithin(sizes.slice(0, page.limit), page.maxChars);
  return { turns: await readTurns(query, chosen, page.order), hasMore: sizes.length > chosen.length };
};

/** The segment and those that it was forked from, the oldest first. An older one counts even if it has expired. */
const partsOf = async ({ db, now }: StateQuery, id: string): Promise<readonly Part[]> => {
  const rows = await db
    .withRecursive('path(segment_id, last, depth)', (of) =>
      of
        .selectFrom('segments')
        .select((column) => [
          column.ref('id').$castTo<string | null>().as('segment_id'),
          column.ref('tip').$castTo<number | null>().as('last'),
          sql<number>`0`.as('depth'),
        ])
        .where('id', '=', id)
        .where('expires_at', '>', now)
        .unionAll(
          of
            .selectFrom('path')
            .innerJoin('segments', 'segments.id', 'path.segment_id')
            .select((column) => [
              'segments.from_segment as segment_id',
              'segments.from_pos as last',
              column('path.depth', '+', 1).as('depth'),
            ])
            .where('segments.from_segment', 'is not', null)
            .where('path.depth', '<', MAX_PARTS),
        ),
    )
    .selectFrom('path')
    .select(['segment_id', 'last', 'depth'])
    .execute();
  return rows
    .toSorted((one, other) => other.depth - one.depth)
    .flatMap(({ segment_id, last }) =>
      segment_id === null || last === null ? [] : [{ segment: segment_id, last }],
    );
};

/** Where a page begins: in this part, after this position. */
interface Start {
  readonly part: number;
  readonly after: number | null;
}

const startOf = async (
  { db }: StateQuery,
  parts: readonly Part[],
  after: string | null,
): Promise<Start | null> => {
  if (after === null) return { part: 0, after: null };
  const turn = await db
    .selectFrom('turns')
    .select(['segment_id', 'pos'])
    .where('key', '=', after)
    .executeTakeFirst();
  const part = parts.findIndex(({ segment, last }) => segment === turn?.segment_id && turn.pos <= last);
  return turn === undefined || part === -1 ? null : { part, after: turn.pos };
};

const sizesFrom = async (
  { db }: StateQuery,
  parts: readonly Part[],
  start: Start,
  { order, limit }: Page,
): Promise<readonly TurnSize[]> => {
  const sizes: TurnSize[] = [];
  let { after } = start;
  for (const { segment, last } of parts.slice(start.part)) {
    const from = after;
    const rows = await db
      .selectFrom('turns')
      .select(['segment_id', 'pos'])
      .select(BODY_BYTES)
      .where('segment_id', '=', segment)
      .where('pos', '<=', last)
      .$if(from !== null, (all) => all.where('pos', order === 'asc' ? '>' : '<', from))
      .orderBy('pos', order)
      .limit(limit - sizes.length)
      .execute();
    sizes.push(...rows);
    if (sizes.length >= limit) break;
    after = null;
  }
  return sizes;
};

/** One query for the turns of each segment: they follow each other there. */
const readTurns = async (
  { db, seal }: StateQuery,
  chosen: readonly TurnSize[],
  order: Page['order'],
): Promise<readonly SegmentTurn[]> => {
  const turns: SegmentTurn[] = [];
  for (const [segment, sizes] of Map.groupBy(chosen, ({ segment_id }) => segment_id)) {
    const places = sizes.map(({ pos }) => pos);
    const rows = await db
      .selectFrom('turns')
      .select(['pos', 'key', 'owner', 'response_id', 'body'])
      .where('segment_id', '=', segment)
      .where('pos', '>=', Math.min(...places))
      .where('pos', '<=', Math.max(...places))
      .orderBy('pos', order)
      .execute();
    for (const { pos, key, owner, response_id, body } of rows) {
      const place = turnPlace(owner, { segment, pos });
      turns.push({ key, responseId: response_id, body: unsealed(() => seal.open(place, body)) });
    }
  }
  return turns;
};
