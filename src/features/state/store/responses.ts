import type { Selectable } from 'kysely';

import { read, write, type OperationsOf } from '../../../store/operation.ts';
import type { Lease, ResponseRow, ResponseStore, SeenLease } from './port.ts';
import type { ResponseTable, StateQuery } from './tables.ts';
import { inParts } from '../../../store/queries/expressions.ts';
import { closeResponse, positionOf, responsePlace, RUNNING, toResponse } from './response-rows.ts';
import { lockSegment, trimSegment } from './segments.ts';

const find = async (query: StateQuery, owner: string, id: string): Promise<ResponseRow | null> => {
  const row = await query.db
    .selectFrom('responses')
    .selectAll()
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  return row === undefined ? null : toResponse(query, row);
};

const at = async (
  { db, now }: StateQuery,
  owner: string,
  id: string,
): Promise<Pick<ResponseRow, 'status' | 'position'> | null> => {
  const row = await db
    .selectFrom('responses')
    .select(['status', 'segment_id', 'pos'])
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row === undefined ? null : { status: row.status, position: positionOf(row) };
};

const add = async (query: StateQuery, row: Omit<ResponseRow, 'position'>, lease: Lease): Promise<void> => {
  await query.db
    .insertInto('responses')
    .values({
      ...closeResponse(query, { ...row, position: null }),
      lease_by: lease.instance,
      lease_beat: lease.beat,
    })
    .execute();
};

const change: (
  query: StateQuery,
  ...args: Parameters<ResponseStore['change']>
) => Promise<ResponseRow | null> = async (query, owner, id, { status, body, expiresAt }) => {
  const row = await query.db
    .updateTable('responses')
    .set({
      status,
      ...(body === undefined ? {} : { body: query.seal.close(responsePlace(owner, id), body) }),
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
      ...(RUNNING.includes(status) ? {} : { lease_by: null, lease_beat: null }),
    })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('status', 'in', RUNNING)
    .where('expires_at', '>', query.now)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toResponse(query, row);
};

const renew = async (
  { db }: StateQuery,
  lease: Lease,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const kept = new Set<string>();
  for (const part of inParts(ids)) {
    const rows = await db
      .updateTable('responses')
      .set({ lease_beat: lease.beat })
      .where('id', 'in', part)
      .where('lease_by', '=', lease.instance)
      .where('status', 'in', RUNNING)
      .returning('id')
      .execute();
    for (const { id } of rows) kept.add(id);
  }
  return ids.filter((id) => !kept.has(id));
};

const leases = async ({ db, now }: StateQuery, limit: number): Promise<readonly SeenLease[]> => {
  const rows = await db
    .selectFrom('responses')
    .select(['id', 'lease_by', 'lease_beat'])
    .where('lease_by', 'is not', null)
    .where('expires_at', '>', now)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, lease_by, lease_beat }) => ({
    id,
    instance: lease_by ?? '',
    beat: lease_beat ?? 0,
  }));
};

const take = async (
  query: StateQuery,
  lease: Lease,
  lost: readonly SeenLease[],
): Promise<readonly ResponseRow[]> => {
  const taken: ResponseRow[] = [];
  for (const { id, instance, beat } of lost) {
    const row = await query.db
      .updateTable('responses')
      .set({ lease_by: lease.instance, lease_beat: lease.beat })
      .where('id', '=', id)
      // Its instance may be alive after all, or another one may have been faster.
      .where('lease_by', '=', instance)
      .where('lease_beat', '=', beat)
      .where('expires_at', '>', query.now)
      .returningAll()
      .executeTakeFirst();
    const opened = row === undefined ? null : await openOrEnd(query, row);
    if (opened !== null) taken.push(opened);
  }
  return taken;
};

/** A row that cannot be read, because its key was dropped, must not keep the others from being taken: it has failed. */
const openOrEnd = async (query: StateQuery, row: Selectable<ResponseTable>): Promise<ResponseRow | null> => {
  try {
    return toResponse(query, row);
  } catch {
    await query.db
      .updateTable('responses')
      .set({ status: 'failed', lease_by: null, lease_beat: null })
      .where('id', '=', row.id)
      .execute();
    return null;
  }
};

const remove = async (query: StateQuery, owner: string, id: string): Promise<boolean> => {
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
  at: read(at),
  add: write(add),
  change: write(change, (row) => row?.id ?? null),
  renew: write(renew),
  leases: read(leases),
  take: write(take),
  delete: write(remove, (isDeleted, _, id) => (isDeleted ? id : null)),
};
