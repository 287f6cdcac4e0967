import { read, write, type OperationsOf, type Query } from '../operation.ts';
import type { Lease, ResponseRow, ResponseStore } from '../store.ts';
import { inParts } from './expressions.ts';
import { closeResponse, responsePlace, RUNNING, toResponse } from './response-rows.ts';
import { lockSegment, trimSegment } from './segments.ts';

const find = async (query: Query, owner: string, id: string): Promise<ResponseRow | null> => {
  const row = await query.db
    .selectFrom('responses')
    .selectAll()
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  return row === undefined ? null : toResponse(query, row);
};

const add = async (query: Query, row: Omit<ResponseRow, 'position'>, lease: Lease): Promise<void> => {
  await query.db
    .insertInto('responses')
    .values({
      ...closeResponse(query, { ...row, position: null }),
      lease_until: lease.until,
      lease_by: lease.instance,
    })
    .execute();
};

const change: (
  query: Query,
  ...args: Parameters<ResponseStore['change']>
) => Promise<ResponseRow | null> = async (query, owner, id, { status, body, expiresAt }) => {
  const row = await query.db
    .updateTable('responses')
    .set({
      status,
      ...(body === undefined ? {} : { body: query.seal.close(responsePlace(owner, id), body) }),
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
      ...(RUNNING.includes(status) ? {} : { lease_until: null, lease_by: null }),
    })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('status', 'in', RUNNING)
    .where('expires_at', '>', query.now)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toResponse(query, row);
};

const renew = async ({ db }: Query, lease: Lease, ids: readonly string[]): Promise<readonly string[]> => {
  const kept = new Set<string>();
  for (const part of inParts(ids)) {
    const rows = await db
      .updateTable('responses')
      .set({ lease_until: lease.until })
      .where('id', 'in', part)
      .where('lease_by', '=', lease.instance)
      .where('status', 'in', RUNNING)
      .returning('id')
      .execute();
    for (const { id } of rows) kept.add(id);
  }
  return ids.filter((id) => !kept.has(id));
};

const takeLost = async (query: Query, lease: Lease, limit: number): Promise<readonly ResponseRow[]> => {
  const { db, now } = query;
  const rows = await db
    .updateTable('responses')
    .set({ lease_until: lease.until, lease_by: lease.instance })
    .where('id', 'in', (of) =>
      of
        .selectFrom('responses as lost')
        .select('lost.id')
        .where('lost.lease_until', '<=', now)
        .where('lost.expires_at', '>', now)
        .orderBy('lost.lease_until')
        .limit(limit),
    )
    // Another instance may have been faster.
    .where('lease_until', '<=', now)
    .returningAll()
    .execute();
  return rows.map((row) => toResponse(query, row));
};

const remove = async (query: Query, owner: string, id: string): Promise<boolean> => {
  const { db, now } = query;
  const of = await db
    .selectFrom('responses')
    .select('segment_id')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  if (of === undefined) return false;
  // Segments are locked before responses everywhere, so that two writers never wait for each other.
  if (of.segment_id !== null) await lockSegment(query, owner, of.segment_id);
  const { numDeletedRows } = await db.deleteFrom('responses').where('id', '=', id).executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await db.deleteFrom('run_events').where('response_id', '=', id).execute();
  if (of.segment_id !== null) await trimSegment(query, owner, of.segment_id);
  return true;
};

export const responseOperations: OperationsOf<ResponseStore> = {
  find: read(find),
  add: write(add),
  change: write(change, (row) => row?.id ?? null),
  renew: write(renew),
  takeLost: write(takeLost),
  delete: write(remove, (isDeleted, _, id) => (isDeleted ? id : null)),
};
