import type { Selectable } from 'kysely';

import { read, write, type OperationsOf } from '../../../store/operation.ts';
import type { ConversationRow, ConversationStore } from './port.ts';
import type { SegmentTable, StateQuery } from './tables.ts';
import { atLeast } from '../../../store/queries/expressions.ts';
import { cacheKeyPlace, segmentPlace, trimSegment } from './segments.ts';
import { insertTurn } from './turn-rows.ts';

const toConversation = ({ seal }: StateQuery, row: Selectable<SegmentTable>): ConversationRow => ({
  id: row.id,
  createdAt: row.created_at,
  body: seal.open(segmentPlace(row.owner, row.id), row.body),
  tip: row.tip,
  cacheKey: seal.open(cacheKeyPlace(row.owner, row.id), row.cache_key),
});

const create = async (query: StateQuery, row: Parameters<ConversationStore['create']>[0]): Promise<void> => {
  const { id, owner, createdAt, expiresAt, turn } = row;
  await query.db
    .insertInto('segments')
    .values({
      id,
      owner,
      kind: 'conversation',
      tip: turn === null ? -1 : 0,
      cache_key: query.seal.close(cacheKeyPlace(owner, id), row.cacheKey),
      created_at: createdAt,
      updated_at: createdAt,
      expires_at: expiresAt,
      sweep_at: expiresAt,
      body: query.seal.close(segmentPlace(owner, id), row.body),
    })
    .execute();
  if (turn === null) return;
  await insertTurn(query, owner, { segment: id, pos: 0 }, { ...turn, responseId: null, charsBefore: 0 });
};

const find = async (query: StateQuery, owner: string, id: string): Promise<ConversationRow | null> => {
  const row = await query.db
    .selectFrom('segments')
    .selectAll()
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('kind', '=', 'conversation')
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  return row === undefined ? null : toConversation(query, row);
};

/** An update of a conversation that is known. */
const updating = ({ db, now }: StateQuery, owner: string, id: string) =>
  db
    .updateTable('segments')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('kind', '=', 'conversation')
    .where('expires_at', '>', now);

const update = async (
  query: StateQuery,
  owner: string,
  id: string,
  to: Parameters<ConversationStore['update']>[2],
): Promise<ConversationRow | null> => {
  const row = await updating(query, owner, id)
    .set({
      body: query.seal.close(segmentPlace(owner, id), to.body),
      updated_at: query.now,
      expires_at: atLeast('expires_at', to.expiresAt),
      sweep_at: atLeast('sweep_at', to.expiresAt),
    })
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toConversation(query, row);
};

const remove = async (query: StateQuery, owner: string, id: string): Promise<boolean> => {
  const { numUpdatedRows } = await updating(query, owner, id)
    .set({ kind: 'chain', body: null, locked_by: null, locked_until: null })
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await trimSegment(query, owner, id);
  return true;
};

/** A lock that lasts so much longer than a new one comes from a clock that is or was wrong. */
const CLOCK_DIFFERENCE_MS = 60_000;

const lock = async (
  query: StateQuery,
  owner: string,
  id: string,
  { holder, until }: Parameters<ConversationStore['lock']>[2],
): Promise<ConversationRow | false | null> => {
  const row = await updating(query, owner, id)
    .set({ locked_by: holder, locked_until: until })
    .where((of) =>
      of.or([
        of('locked_until', 'is', null),
        of('locked_until', '<=', query.now),
        of('locked_until', '>', until + CLOCK_DIFFERENCE_MS),
        of('locked_by', '=', holder),
      ]),
    )
    .returningAll()
    .executeTakeFirst();
  if (row !== undefined) return toConversation(query, row);
  return (await find(query, owner, id)) === null ? null : false;
};

const unlock = async ({ db }: StateQuery, owner: string, id: string, holder: string): Promise<void> => {
  await db
    .updateTable('segments')
    .set({ locked_by: null, locked_until: null })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('locked_by', '=', holder)
    .execute();
};

export const conversationOperations: OperationsOf<ConversationStore> = {
  create: write(create),
  find: read(find),
  update: write(update),
  delete: write(remove),
  lock: write(lock),
  unlock: write(unlock),
};
