import type { Kysely } from 'kysely';

import { write, type Query } from '../operation.ts';
import { cutSegment, deleteSegment, trimSegment } from './segments.ts';

interface ExpiringTable {
  id: string;
  expires_at: number;
}

/** Deletes some expired rows of a table that no other row depends on. It has the columns `id` and `expires_at`. */
export const deleteExpired = async ({ db, now }: Query, table: string, limit: number): Promise<number> => {
  const { numDeletedRows } = await (db as unknown as Kysely<Record<string, ExpiringTable>>)
    .deleteFrom(table)
    .where('id', 'in', (of) =>
      of.selectFrom(table).select('id').where('expires_at', '<=', now).orderBy('expires_at').limit(limit),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
};

const deleteEvents = async ({ db, now }: Query, limit: number): Promise<number> => {
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

/**
 * Deletes at most so many turns and segments. A segment from which others were forked is looked at again when those expire:
 * it counts as one, so that the sweep goes on until it finds those that have no forks.
 */
const deleteSegments = async (query: Query, limit: number): Promise<number> => {
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

/** A method of the store itself. `parts` sweep the tables of features. */
export const sweepWith = (parts: readonly Sweep[]) =>
  write(async (query: Query, limit: number): Promise<number> => {
    let swept = await sweep(query, limit);
    for (const part of parts) swept += await part(query, limit);
    return swept;
  });

/** Deletes some expired rows. Returns how many it looked at. */
export type Sweep = (query: Query, limit: number) => Promise<number>;

const sweep: Sweep = async (query, limit) => {
  const counts = [
    await deleteExpired(query, 'responses', limit),
    await deleteSegments(query, limit),
    await deleteExpired(query, 'chat_completions', limit),
    await deleteEvents(query, limit),
    await deleteMemory(query, limit),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
};
