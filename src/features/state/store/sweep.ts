import { deleteExpired } from '../../../store/queries/expressions.ts';
import type { Sweep } from '../../../store/part.ts';
import { cutSegment, deleteSegment, trimSegment } from './segments.ts';
import type { StateQuery } from './tables.ts';

const deleteEvents = async ({ db, now }: StateQuery, limit: number): Promise<number> => {
  const rows = await db
    .selectFrom('run_events')
    .select(['response_id', 'first'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  for (const { response_id, first } of rows) {
    await db
      .deleteFrom('run_events')
      .where('response_id', '=', response_id)
      .where('first', '=', first)
      .execute();
  }
  return rows.length;
};

/**
 * Deletes at most so many turns and segments. A segment from which others were forked is looked at again when those expire:
 * it counts as one, so that the sweep goes on until it finds those that have no forks.
 */
const deleteSegments = async (query: StateQuery, limit: number): Promise<number> => {
  const { db, now } = query;
  const due = await db
    .selectFrom('segments')
    .select(['id', 'owner', 'tip', 'expires_at'])
    .where('sweep_at', '<=', now)
    .orderBy('sweep_at')
    .limit(limit)
    .forUpdate()
    .execute();
  let done = 0;
  for (const { id, owner, tip, expires_at } of due) {
    if (done >= limit) break;
    const fork = await db
      .selectFrom('segments')
      .select((of) => of.fn.max('sweep_at').as('sweep_at'))
      .where('from_segment', '=', id)
      .executeTakeFirst();
    const keptUntil = Math.max(fork?.sweep_at ?? 0, expires_at);
    if (keptUntil > now || (fork?.sweep_at ?? null) !== null) {
      // A fork that is due itself goes first.
      await db
        .updateTable('segments')
        .set({ sweep_at: Math.max(keptUntil, now + 1) })
        .where('id', '=', id)
        .execute();
      done += 1;
      continue;
    }
    const left = limit - done;
    if (tip + 1 >= left) {
      await cutSegment(query, id, tip - left, tip);
      return done + left;
    }
    done += tip + 2;
    const before = await deleteSegment(query, id);
    if (before !== null) await trimSegment(query, owner, before);
  }
  return done;
};

export const sweepState: Sweep<StateQuery> = async (query, limit) => {
  const counts = [
    await deleteExpired(query, 'responses', limit),
    await deleteSegments(query, limit),
    await deleteExpired(query, 'chat_completions', limit),
    await deleteEvents(query, limit),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
};
