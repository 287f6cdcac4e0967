import { sql, type Selectable } from 'kysely';

import { GatewayError } from '../../../canonical/failure/failure.ts';
import { read, write, type OperationsOf } from '../../../store/operation.ts';
import { inParts } from '../../../store/queries/expressions.ts';
import type {
  AgentLease,
  AgentSessionRow,
  AgentSessionStore,
  InputKey,
  OwnedSession,
  QueueRoom,
  SeenAgentLease,
  SessionChange,
  SessionRefusal,
} from './port.ts';
import { sessionLists } from './session-lists.ts';
import {
  agentPlace,
  changedColumns,
  nextItemOf,
  toSession,
  writeMetadata,
  writeParts,
} from './session-rows.ts';
import type { AgentQuery, AgentSessionTable } from './tables.ts';

/** Who changes the row of a workspace decides alone what waits for it and runs in it. */
const lockWorkspace = async ({ db }: AgentQuery, workspace: string): Promise<void> => {
  await db
    .insertInto('agent_places')
    .values({ workspace, changes: 1 })
    .onConflict((conflict) =>
      conflict.column('workspace').doUpdateSet({ changes: sql<number>`agent_places.changes + 1` }),
    )
    .execute();
};

const running = async ({ db }: AgentQuery, workspace: string): Promise<number> => {
  const row = await db
    .selectFrom('agent_sessions')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('workspace', '=', workspace)
    .where('lease_by', 'is not', null)
    .executeTakeFirst();
  return row?.count ?? 0;
};

/** Whether one more turn may wait for the workspace: those that can run at once do not wait. */
const hasRoom = async (
  query: AgentQuery,
  { owner, workspace }: Pick<AgentSessionRow, 'owner' | 'workspace'>,
  { maxQueued, runs }: QueueRoom,
): Promise<boolean> => {
  await lockWorkspace(query, workspace);
  let waiting = query.db
    .selectFrom('agent_sessions')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('workspace', '=', workspace)
    .where('queued_at', 'is not', null)
    .where('expires_at', '>', query.now);
  // Sessions without a workspace share nothing with those of other keys.
  if (workspace === '') waiting = waiting.where('owner', '=', owner);
  const row = await waiting.executeTakeFirst();
  const free = Math.max(0, runs - (await running(query, workspace)));
  return (row?.count ?? 0) < maxQueued + free;
};

const create: (
  query: AgentQuery,
  ...args: Parameters<AgentSessionStore['create']>
) => Promise<AgentSessionRow | 'full' | 'limit'> = async (query, row, change, maxSessions) => {
  const { db, now } = query;
  const { id, owner } = row;
  const known = await db
    .selectFrom('agent_sessions')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  if ((known?.count ?? 0) >= maxSessions) return 'limit';
  if (change.room !== null && !(await hasRoom(query, row, change.room))) return 'full';
  const stored = await db
    .insertInto('agent_sessions')
    .values({
      id,
      owner,
      agent_id: row.agentId,
      workspace: row.workspace,
      rev: 1,
      next_event: 1 + change.events.length,
      next_item: change.nextItem,
      lease_by: null,
      lease_beat: null,
      created_at: row.createdAt,
      ...changedColumns(query, owner, id, change),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await writeMetadata(query, owner, id, change.metadata);
  await writeParts(query, owner, id, 1, change);
  return toSession(query, stored);
};

const find = async (query: AgentQuery, owner: string, id: string): Promise<AgentSessionRow | null> => {
  const row = await query.db
    .selectFrom('agent_sessions')
    .selectAll()
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  return row === undefined ? null : toSession(query, row);
};

const change = async (
  query: AgentQuery,
  owner: string,
  id: string,
  rev: number,
  to: SessionChange,
): Promise<AgentSessionRow | SessionRefusal> => {
  const { db, seal, now } = query;
  const found = await db
    .selectFrom('agent_sessions')
    .select(['rev', 'owner', 'workspace', 'metadata'])
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .forUpdate()
    .executeTakeFirst();
  if (found === undefined) return 'gone';
  if (found.rev !== rev) return 'conflict';
  if (to.room !== null && !(await hasRoom(query, found, to.room))) return 'full';
  if (to.inputKey !== null && !(await useKey(query, id, to.inputKey))) return 'conflict';
  const row = await db
    .updateTable('agent_sessions')
    .set({
      ...changedColumns(query, owner, id, to),
      rev: rev + 1,
      next_event: sql<number>`next_event + ${to.events.length}`,
      next_item: nextItemOf(to),
      ...(to.phase === 'running' ? {} : { lease_by: null, lease_beat: null }),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const before = seal.open(agentPlace('agent_sessions.metadata', owner, id), found.metadata);
  if (before !== JSON.stringify(to.metadata)) await writeMetadata(query, owner, id, to.metadata);
  if (to.expireEventsAt !== null) {
    await db
      .updateTable('agent_events')
      .set({ expires_at: to.expireEventsAt })
      .where('session_id', '=', id)
      .where('expires_at', '>', to.expireEventsAt)
      .execute();
  }
  await writeParts(query, owner, id, row.next_event - to.events.length, to);
  return toSession(query, row);
};

/** False: it was used before. */
const useKey = async (
  { db, seal, now }: AgentQuery,
  sessionId: string,
  { key, body, expiresAt }: InputKey,
): Promise<boolean> => {
  await db
    .deleteFrom('agent_input_keys')
    .where('session_id', '=', sessionId)
    .where('key', 'in', seal.digests(key))
    .where('expires_at', '<=', now)
    .execute();
  const used = await db
    .insertInto('agent_input_keys')
    .values({ session_id: sessionId, key: seal.digest(key), expires_at: expiresAt, body })
    .onConflict((conflict) => conflict.columns(['session_id', 'key']).doNothing())
    .returning('key')
    .executeTakeFirst();
  return used !== undefined;
};

const inputOf = async (
  { db, seal, now }: AgentQuery,
  owner: string,
  id: string,
  key: string,
): Promise<string | null> => {
  const row = await db
    .selectFrom('agent_input_keys')
    .innerJoin('agent_sessions', 'agent_sessions.id', 'agent_input_keys.session_id')
    .select('agent_input_keys.body')
    .where('session_id', '=', id)
    .where('key', 'in', seal.digests(key))
    .where('agent_input_keys.expires_at', '>', now)
    .where('agent_sessions.owner', '=', owner)
    .executeTakeFirst();
  return row?.body ?? null;
};

const append: (
  query: AgentQuery,
  ...args: Parameters<AgentSessionStore['append']>
) => Promise<boolean> = async (query, owner, id, { instance, first }, writes) => {
  const { db } = query;
  const row = await db
    .updateTable('agent_sessions')
    .set({ next_event: first + writes.events.length, next_item: nextItemOf(writes) })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('lease_by', '=', instance)
    .where('next_event', '=', first)
    .returning('id')
    .executeTakeFirst();
  if (row !== undefined) {
    await writeParts(query, owner, id, first, writes);
    return true;
  }
  // An attempt before this one may have written it.
  const written = await db
    .selectFrom('agent_sessions')
    .select('next_event')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('lease_by', '=', instance)
    .executeTakeFirst();
  return written?.next_event === first + writes.events.length;
};

const remove = async (
  { db, now }: AgentQuery,
  owner: string,
  id: string,
  rev: number,
): Promise<'deleted' | 'conflict'> => {
  const { numDeletedRows } = await db
    .deleteFrom('agent_sessions')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('rev', '=', rev)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return numDeletedRows > 0n ? 'deleted' : 'conflict';
};

const queues = async ({ db, now }: AgentQuery): Promise<readonly string[]> => {
  const rows = await db
    .selectFrom('agent_sessions')
    .select('workspace')
    .distinct()
    .where('queued_at', 'is not', null)
    .where('expires_at', '>', now)
    .execute();
  return rows.map(({ workspace }) => workspace);
};

const claim = async (
  query: AgentQuery,
  workspace: string,
  lease: AgentLease,
  runs: number,
): Promise<AgentSessionRow | null> => {
  const { db, now } = query;
  await lockWorkspace(query, workspace);
  if ((await running(query, workspace)) >= runs) return null;
  const next = await db
    .selectFrom('agent_sessions')
    .select('id')
    .where('workspace', '=', workspace)
    .where('queued_at', 'is not', null)
    .where('expires_at', '>', now)
    .orderBy('queued_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .executeTakeFirst();
  if (next === undefined) return null;
  const row = await db
    .updateTable('agent_sessions')
    .set({
      phase: 'running',
      queued_at: null,
      lease_by: lease.instance,
      lease_beat: lease.beat,
      rev: sql<number>`rev + 1`,
    })
    .where('id', '=', next.id)
    // It may have been cancelled.
    .where('queued_at', 'is not', null)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toSession(query, row);
};

const renew = async (
  { db }: AgentQuery,
  lease: AgentLease,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const kept = new Set<string>();
  for (const part of inParts(ids)) {
    const rows = await db
      .updateTable('agent_sessions')
      .set({ lease_beat: lease.beat })
      .where('id', 'in', part)
      .where('lease_by', '=', lease.instance)
      .returning('id')
      .execute();
    for (const { id } of rows) kept.add(id);
  }
  return ids.filter((id) => !kept.has(id));
};

const leases = async ({ db }: AgentQuery, limit: number): Promise<readonly SeenAgentLease[]> => {
  const rows = await db
    .selectFrom('agent_sessions')
    .select(['id', 'lease_by', 'lease_beat'])
    .where('lease_by', 'is not', null)
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
  query: AgentQuery,
  lease: AgentLease,
  lost: readonly SeenAgentLease[],
): Promise<readonly AgentSessionRow[]> => {
  const taken: AgentSessionRow[] = [];
  for (const { id, instance, beat } of lost) {
    const row = await query.db
      .updateTable('agent_sessions')
      .set({ lease_by: lease.instance, lease_beat: lease.beat, rev: sql<number>`rev + 1` })
      .where('id', '=', id)
      // Its instance may be alive after all, or another one may have been faster.
      .where('lease_by', '=', instance)
      .where('lease_beat', '=', beat)
      .returningAll()
      .executeTakeFirst();
    const opened = row === undefined ? null : await openOrEnd(query, row);
    if (opened !== null) taken.push(opened);
  }
  return taken;
};

/** A row that cannot be read, because its key was dropped, must not keep its workspace busy for ever. */
const openOrEnd = async (
  query: AgentQuery,
  row: Selectable<AgentSessionTable>,
): Promise<AgentSessionRow | null> => {
  const opened = unlessCorrupt(() => toSession(query, row));
  if (opened === null) {
    await query.db
      .updateTable('agent_sessions')
      .set({ phase: 'failed', lease_by: null, lease_beat: null })
      .where('id', '=', row.id)
      .execute();
  }
  return opened;
};

const unlessCorrupt = <Value>(open: () => Value): Value | null => {
  try {
    return open();
  } catch (error) {
    if (error instanceof GatewayError && error.failure.kind === 'store_corrupt') return null;
    throw error;
  }
};

const overdue = async ({ db, now }: AgentQuery, limit: number): Promise<readonly OwnedSession[]> =>
  db
    .selectFrom('agent_sessions')
    .select(['id', 'owner'])
    .where('deadline_at', '<=', now)
    .where('expires_at', '>', now)
    .orderBy('deadline_at')
    .limit(limit)
    .execute();

const idOf = (row: AgentSessionRow | string | null, _: unknown, id: string): string | null =>
  row === null || typeof row === 'string' ? null : id;

export const agentSessionOperations: OperationsOf<AgentSessionStore> = {
  create: write(create, (made) => (typeof made === 'string' ? null : made.id)),
  find: read(find),
  change: write(change, idOf),
  append: write(append, (isWritten, _, id) => (isWritten ? id : null), 'events'),
  delete: write(remove, (result, _, id) => (result === 'deleted' ? id : null)),
  inputOf: read(inputOf),
  queues: read(queues),
  claim: write(claim, (row) => row?.id ?? null),
  renew: write(renew),
  leases: read(leases),
  take: write(take),
  overdue: read(overdue),
  ...sessionLists,
};
