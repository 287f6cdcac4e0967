import type { Onto, Position, TurnStore } from './port.ts';
import { atLeast } from '../../../store/queries/expressions.ts';
import { closeResponse, endBackground } from './response-rows.ts';
import { cacheKeyPlace, lockSegment } from './segments.ts';
import { insertTurn } from './turn-rows.ts';
import type { StateQuery } from './tables.ts';

type Write = Parameters<TurnStore['commit']>[0];

/** Where a turn goes. */
interface Target extends Position {
  /** The segment to be made; null: it exists. */
  readonly newSegment: { readonly from: Position | null; readonly cacheKey: string } | null;
  readonly charsBefore: number;
}

/**
 * Locks the segment before it writes anything, so nothing has to be undone if it returns null. A repeated write, after one
 * whose end the caller did not learn, finds the turn by its key.
 */
export const commitTurn = async (query: StateQuery, write: Write): Promise<Position | null> => {
  const { owner, onto, turn, response, expiresAt } = write;
  const earlier = await positionOf(query, owner, turn.key);
  if (earlier !== null) return earlier;
  const target = await findTarget(query, owner, onto);
  if (target === null) return null;
  const at = { segment: target.segment, pos: target.pos };
  if (response?.isBackground === true && !(await endBackground(query, owner, response, at))) return null;
  await writeSegment(query, owner, target, Math.max(expiresAt, response?.expiresAt ?? 0));
  const { charsBefore } = target;
  await insertTurn(query, owner, at, { ...turn, responseId: response?.id ?? null, charsBefore });
  if (response !== null && !response.isBackground) {
    await query.db
      .insertInto('responses')
      .values(closeResponse(query, { ...response, owner, position: at }))
      .execute();
  }
  return at;
};

const positionOf = async ({ db }: StateQuery, owner: string, key: string): Promise<Position | null> => {
  const row = await db
    .selectFrom('turns')
    .select(['segment_id', 'pos'])
    .where('key', '=', key)
    .where('owner', '=', owner)
    .executeTakeFirst();
  return row === undefined ? null : { segment: row.segment_id, pos: row.pos };
};

/** Null: what the turn is to follow does not exist any more. */
const findTarget = async (query: StateQuery, owner: string, onto: Onto): Promise<Target | null> => {
  if (onto.kind === 'new') {
    const newSegment = { from: null, cacheKey: onto.cacheKey };
    return { segment: onto.segment, pos: 0, newSegment, charsBefore: 0 };
  }
  const id = onto.kind === 'after' ? onto.at.segment : onto.id;
  const segment = await lockSegment(query, owner, id);
  if (segment === null) return null;
  if (onto.kind === 'conversation') {
    if (segment.kind !== 'conversation' || segment.expires_at <= query.now) return null;
    const charsBefore = await charsUpTo(query, { segment: id, pos: segment.tip });
    return { segment: id, pos: segment.tip + 1, newSegment: null, charsBefore };
  }
  const { at, fork, cacheKey } = onto;
  if (segment.tip < at.pos) return null;
  const charsBefore = await charsUpTo(query, at);
  // What continues a response of a conversation is not a part of that conversation.
  return segment.kind === 'chain' && segment.tip === at.pos
    ? { segment: id, pos: at.pos + 1, newSegment: null, charsBefore }
    : { segment: fork, pos: 0, newSegment: { from: at, cacheKey }, charsBefore };
};

const charsUpTo = async ({ db }: StateQuery, { segment, pos }: Position): Promise<number> => {
  const row = await db
    .selectFrom('turns')
    .select('total_chars')
    .where('segment_id', '=', segment)
    .where('pos', '=', pos)
    .executeTakeFirst();
  return row?.total_chars ?? 0;
};

const writeSegment = async (
  { db, seal, now }: StateQuery,
  owner: string,
  { segment, pos, newSegment }: Target,
  expiresAt: number,
): Promise<void> => {
  if (newSegment === null) {
    await db
      .updateTable('segments')
      .set({
        tip: pos,
        updated_at: now,
        expires_at: atLeast('expires_at', expiresAt),
        sweep_at: atLeast('sweep_at', expiresAt),
      })
      .where('id', '=', segment)
      .execute();
    return;
  }
  await db
    .insertInto('segments')
    .values({
      id: segment,
      owner,
      kind: 'chain',
      from_segment: newSegment.from?.segment ?? null,
      from_pos: newSegment.from?.pos ?? null,
      tip: pos,
      cache_key: seal.close(cacheKeyPlace(owner, segment), newSegment.cacheKey),
      created_at: now,
      updated_at: now,
      expires_at: expiresAt,
      sweep_at: expiresAt,
    })
    .execute();
};
