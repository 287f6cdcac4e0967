import type { Selectable } from 'kysely';

import { atLeast } from '../../../store/queries/expressions.ts';
import type { Place } from '../../../store/seal.ts';
import type { AgentSessionRow, SessionChange, SessionWrites } from './port.ts';
import type { AgentQuery, AgentSessionTable } from './tables.ts';

/** A row of a table whose text is sealed for it. */
export const agentPlace = (column: string, owner: string, row: string): Place => ({ column, row, owner });

export const toSession = ({ seal }: AgentQuery, row: Selectable<AgentSessionTable>): AgentSessionRow => {
  const open = (column: 'metadata' | 'settings' | 'state'): string =>
    seal.open(agentPlace(`agent_sessions.${column}`, row.owner, row.id), row[column]);
  return {
    id: row.id,
    owner: row.owner,
    agentId: row.agent_id,
    workspace: row.workspace,
    phase: row.phase,
    rev: row.rev,
    nextEvent: row.next_event,
    nextItem: row.next_item,
    createdAt: row.created_at,
    lastActiveAt: row.last_active_at,
    queuedAt: row.queued_at,
    deadlineAt: row.deadline_at,
    metadata: JSON.parse(open('metadata')) as Record<string, string>,
    settings: open('settings'),
    state: open('state'),
  };
};

/** The columns of a session that a change sets. */
export const changedColumns = ({ seal }: AgentQuery, owner: string, id: string, change: SessionChange) => {
  const close = (column: string, text: string): string =>
    seal.close(agentPlace(`agent_sessions.${column}`, owner, id), text);
  return {
    phase: change.phase,
    queued_at: change.queuedAt,
    deadline_at: change.deadlineAt,
    last_active_at: change.lastActiveAt,
    expires_at: change.expiresAt,
    metadata: close('metadata', JSON.stringify(change.metadata)),
    settings: close('settings', change.settings),
    state: close('state', change.state),
  };
};

export const pairText = (key: string, value: string): string => JSON.stringify([key, value]);

export const writeMetadata = async (
  { db, seal }: AgentQuery,
  owner: string,
  id: string,
  metadata: AgentSessionRow['metadata'],
): Promise<void> => {
  await db.deleteFrom('agent_session_metadata').where('session_id', '=', id).execute();
  const pairs = Object.entries(metadata).map(([key, value]) => ({
    owner,
    pair: seal.digest(pairText(key, value)),
    session_id: id,
  }));
  if (pairs.length > 0) await db.insertInto('agent_session_metadata').values(pairs).execute();
};

/** Writes what belongs to a change. `firstEvent`: the number of the first new event. */
export const writeParts = async (
  query: AgentQuery,
  owner: string,
  id: string,
  firstEvent: number,
  writes: SessionWrites,
): Promise<void> => {
  await writeTurns(query, owner, id, writes);
  await writeItems(query, owner, id, writes);
  const { db, seal } = query;
  if (writes.events.length === 0) return;
  const body = JSON.stringify(writes.events);
  await db
    .insertInto('agent_events')
    .values({
      session_id: id,
      first: firstEvent,
      last: firstEvent + writes.events.length - 1,
      owner,
      chars: body.length,
      expires_at: writes.eventsExpireAt,
      body: seal.close(agentPlace('agent_events.body', owner, `${id}/${firstEvent}`), body),
    })
    .execute();
};

const writeTurns = async (
  { db, seal }: AgentQuery,
  owner: string,
  id: string,
  { turns }: SessionWrites,
): Promise<void> => {
  for (const turn of turns) {
    const body = seal.close(agentPlace('agent_turns.body', owner, `${id}/${turn.pos}`), turn.body);
    await db
      .insertInto('agent_turns')
      .values({ session_id: id, pos: turn.pos, id: turn.id, owner, body })
      .onConflict((conflict) => conflict.columns(['session_id', 'pos']).doUpdateSet({ body }))
      .execute();
  }
};

const writeItems = async (
  { db, seal }: AgentQuery,
  owner: string,
  id: string,
  { items }: SessionWrites,
): Promise<void> => {
  for (const item of items) {
    const close = (column: 'body' | 'raw'): string | null => {
      const text = item[column] ?? null;
      const place = agentPlace(`agent_items.${column}`, owner, `${id}/${item.pos}`);
      return text === null ? null : seal.close(place, text);
    };
    const shown = { is_shown: item.body == null ? 0 : 1, body: close('body') };
    const heard = { chars: item.raw?.length ?? 0, raw: close('raw') };
    const changed = { ...(item.body === undefined ? {} : shown), ...(item.raw === undefined ? {} : heard) };
    await db
      .insertInto('agent_items')
      .values({ session_id: id, pos: item.pos, id: item.id, turn_id: item.turnId, owner, ...shown, ...heard })
      .onConflict((conflict) => conflict.columns(['session_id', 'pos']).doUpdateSet(changed))
      .execute();
  }
};

/** For the column of the next item, which other writers may have raised. */
export const nextItemOf = (writes: SessionWrites) => atLeast('next_item', writes.nextItem);
